import { AllocDirError } from "./alloc-dir-error.ts";

/** Longest task name in bytes. @public */
export const MAX_TASK_NAME_BYTES = 200;

const ALLOC_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Refuses a task name that is not one plain, printable path segment, or is `alloc`. @public */
export function checkTaskName(name: string): void {
  const fault =
    name === ""
      ? "is empty"
      : name === "." || name === ".." || name === "alloc"
        ? "is reserved"
        : /[/\\]/.test(name)
          ? "has a path separator"
          : /[\u0000-\u001f\u007f-\u009f\u2028\u2029]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(
                name,
              )
            ? "has a character that is not printable"
            : Buffer.byteLength(name) > MAX_TASK_NAME_BYTES
              ? `is longer than ${MAX_TASK_NAME_BYTES} bytes`
              : undefined;
  if (fault !== undefined)
    throw new AllocDirError("BAD_NAME", `task name ${JSON.stringify(name)} ${fault}`, name, {
      details: { field: "name" },
    });
}

/** Refuses an allocation id that is not a UUID: it becomes part of paths. @public */
export function checkAllocId(id: string): void {
  if (!ALLOC_ID.test(id))
    throw new AllocDirError("BAD_NAME", `allocation id ${JSON.stringify(id)} is not a UUID`, id, {
      details: { field: "allocId" },
    });
}
