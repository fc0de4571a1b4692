import { pluginExecutable } from "@outrider/build-config/plugin-executable";

export default pluginExecutable("outrider-driver-hello", "src/driver-hello.ts");
