import { pluginExecutable } from "@outrider/build-config/plugin-executable";

export default pluginExecutable("outrider-driver-windowed", "src/driver-windowed.ts");
