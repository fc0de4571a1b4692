import type { DirAccess } from "@outrider/allocdir-interface/local";
import type { Allocation, Task } from "@outrider/nomad-structs";

/** Finds a user by name or number; rejects for an unknown one. */
export type UserFinder = (name: string) => Promise<{ readonly uid: number; readonly gid: number }>;

const SHUT = { mode: 0o700 } as const;
/** May be walked through by who knows the way, not listed. */
const PASSAGE = { mode: 0o711 } as const;

/**
 * Who may enter the directories of an allocation when the agent runs as root. All of them are closed to other users of this machine, except
 * those whom its tasks run as: these may walk to the directories of their tasks and to the shared one. Only when tasks of several users share
 * it, the shared one is as open as Nomad's, to everybody who knows the allocation's id.
 */
export function allocAccess(
  alloc: Pick<Allocation, "Job" | "TaskGroup">,
  find: UserFinder,
  letPass: () => Promise<void>,
): (directory: string) => Promise<DirAccess | undefined> {
  const group = alloc.Job?.TaskGroups?.find((g) => g.Name === alloc.TaskGroup);
  const tasks = group?.Tasks ?? [];
  return async (directory) => {
    const users = await Promise.all(tasks.map((task) => userOf(task, find)));
    const others = users.filter((user) => user !== "own");
    if (directory === "") {
      if (others.length === 0) return SHUT;
      await letPass();
      return PASSAGE;
    }
    if (directory === "alloc") {
      const [first] = others;
      if (first === undefined || first === "unknown") return undefined;
      const alone = others.every((user) => user !== "unknown" && user.uid === first.uid);
      return alone ? { mode: 0o700, owner: first } : undefined;
    }
    const user = users[tasks.findIndex((task) => task.Name === directory)] ?? "own";
    if (user === "unknown") return undefined;
    return user === "own" ? { mode: 0o700, owner: { uid: 0, gid: 0 } } : { mode: 0o700, owner: user };
  };
}

/** A name with variables is known only when the task starts. One that does not exist fails then; until then nobody needs to enter. */
async function userOf(
  { User }: Pick<Task, "User">,
  find: UserFinder,
): Promise<{ uid: number; gid: number } | "own" | "unknown"> {
  if (User === "" || User === "root" || User === "0") return "own";
  if (User.includes("${")) return "unknown";
  try {
    const { uid, gid } = await find(User);
    return uid === 0 ? "own" : { uid, gid };
  } catch {
    return "own";
  }
}
