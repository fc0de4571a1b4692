import { isZoneName } from "./zone.ts";

/** What the process says about its zone. @internal */
export interface HostZone {
  /** The environment variable `TZ`, undefined if it is not set. */
  readonly tz: string | undefined;
  /** What `Intl` resolved. */
  readonly resolved: string | undefined;
}

/**
 * The name of the host's zone, or undefined if it is not certain: a `TZ` that the runtime did not understand (an empty one,
 * a POSIX rule, a typing error) would silently become UTC.
 * @internal
 */
export function hostZoneName({ tz, resolved }: HostZone): string | undefined {
  if (tz === undefined) return resolved !== undefined && isZoneName(resolved) ? resolved : undefined;
  const name = tz.startsWith(":") ? tz.slice(1) : tz;
  return isZoneName(name) ? name : undefined;
}

let known: { readonly name: string | undefined } | undefined;

/** {@link hostZoneName} of this process, read once. @internal */
export function localZoneName(): string | undefined {
  known ??= {
    name: hostZoneName({
      tz: globalThis.process?.env.TZ,
      resolved: new Intl.DateTimeFormat("en-US").resolvedOptions().timeZone,
    }),
  };
  return known.name;
}
