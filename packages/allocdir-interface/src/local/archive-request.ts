import type { ArchiveRequest } from "../migrate/archive-writer.ts";
import type { TaskPlaces } from "./task-places.ts";

/** What belongs into the archive of an allocation's disk: its data, and `local` of each task. */
export function archiveRequest(o: {
  readonly allocId: string;
  readonly allocDir: string;
  readonly tasks: Iterable<string>;
  readonly places: TaskPlaces;
}): ArchiveRequest {
  const { allocId, allocDir: base, places } = o;
  const tasks = [...o.tasks].sort();
  return {
    allocId,
    roots: [
      { name: "alloc/data", base, below: ["alloc", "data"] },
      ...tasks.map((task) => {
        const [parent, name] = places.of(task);
        return { name: `${task}/local`, base: parent, below: [name, "local"] };
      }),
    ],
    secrets: places.elsewhere().flatMap((task) => {
      const [parent, name] = places.of(task);
      return ["secrets", "private"].map((kind) => ({ base: parent, below: [name, kind] }));
    }),
    taskParents: [base],
  };
}
