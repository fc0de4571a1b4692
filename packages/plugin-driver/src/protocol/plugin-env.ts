/** The environment variables by which a go-plugin host talks to a plugin. */

export const MAGIC_COOKIE_KEY = "NOMAD_PLUGIN_MAGIC_COOKIE";
/** Nomad's cookie: it only tells a plugin from a program that somebody started by hand. Not a secret. */
export const MAGIC_COOKIE_VALUE = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255";

/** All of them: none may reach a task. */
export const PLUGIN_VARIABLES: readonly string[] = [
  MAGIC_COOKIE_KEY,
  "PLUGIN_MIN_PORT",
  "PLUGIN_MAX_PORT",
  "PLUGIN_PROTOCOL_VERSIONS",
  "PLUGIN_CLIENT_CERT",
  "PLUGIN_MULTIPLEX_GRPC",
  "PLUGIN_UNIX_SOCKET_DIR",
  "PLUGIN_UNIX_SOCKET_GROUP",
];
