/** The per-task supervisor: a POSIX shell script that waits for one task and writes its exit into a preallocated slot. */
import { readTextOrNothing, writeFileAtomic } from "./files.ts";
import { join } from "node:path";

/** Format of the conversation between shim, slot and driver; part of the script's file name. */
export const SHIM_VERSION = 1;

/**
 * Arguments: `$1` the spec file. Descriptors: 3 the slot, 4 and 5 hold the log fifos open, 6 and 7 their write ends for the task.
 * It never exits by itself: its death while nobody reads would take the unread bytes of the fifos along. It stops itself, and the driver
 * kills it once the result is saved. `jobs` right after `wait` tells an exit with 137 from a death by signal 9, which `$?` cannot.
 */
export const SHIM_TEXT = `trap '' 1 2 3 5 6 7 8 10 11 12 13 14 15 16 24 25 26 27 29 30 31
[ -z "\${BASH_VERSION-}" ] || { set +o posix; set -m; trap 'jobs >&3' CHLD; }
( exec >&6 2>&7 3>&- 4>&- 5>&- 6>&- 7>&-; . "$1" ) &
p=$!; exec 6>&- 7>&- </dev/null >/dev/null
m= s=; { read -r m </proc/$$/stat; read -r s </proc/$p/stat; } 2>/dev/null
set -f; i=\${s##*) }; set -- $i; s=\${20-0}; i=\${m##*) }; set -- $i; m=\${20-0}
printf 'S %s %s %s %s .\\n' $$ "$m" $p "$s" >&3
wait $p; c=$?
[ -z "\${BASH_VERSION-}" ] || { trap - CHLD; wait $p; c=$?; }
{ printf 'E %s\\n' $c; jobs; printf '.\\n'; } >&3
while :; do kill -STOP $$; done
`;

/** Puts the script into the driver's folder under a versioned name (running shims may still read an older one) and returns its path. */
export function installShim(folder: string): string {
  const path = join(folder, `shim-${SHIM_VERSION}.sh`);
  // a driver must be able to start on a full disk
  if (readTextOrNothing(path) !== SHIM_TEXT) writeFileAtomic(path, SHIM_TEXT, 0o600);
  return path;
}
