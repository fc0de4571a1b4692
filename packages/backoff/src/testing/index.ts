export { ManualClock, type PendingTimer } from "./manual-clock.ts";
