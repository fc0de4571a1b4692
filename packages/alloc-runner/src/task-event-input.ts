import type { TaskEventFacts, TaskEventType } from "@outrider/nomad-structs";

/** An event of a task before it has a time: the runner gives it one, later than that of the event before. @public */
export interface TaskEventInput {
  readonly type: TaskEventType;
  /** What the event's text and details are made of. */
  readonly facts?: TaskEventFacts;
}

/** An error that brings the event which tells it; without one a failing hook is told as `Task hook failed`. @public */
export interface TaskEventCarrier {
  readonly taskEvent: TaskEventInput;
}
