import { project } from "@outrider/build-config/vitest";

export default project("driver-windowed");
