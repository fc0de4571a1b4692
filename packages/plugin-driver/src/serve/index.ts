export { createDriverServer, type DriverServer, type DriverServerOptions } from "./create-driver-server.ts";
export { MAX_SOCKET_PATH_BYTES } from "../wire/socket-path.ts";
