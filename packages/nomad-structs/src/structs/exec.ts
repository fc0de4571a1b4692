import { bool, bytes, int, ref, str, struct, type Infer } from "../dsl/field.ts";

const ioFields = { data: bytes(), close: bool() };
/** Bytes of a stream of an exec session (base64), or its end. @public */
export interface ExecIO extends Infer<typeof ioFields> {}
/** The description of {@link ExecIO}. @public */
export const ExecIOStruct = struct<ExecIO>("ExecIO", ioFields, { omitZero: true });

const ttySizeFields = { height: int(32), width: int(32) };
/** Size of the terminal of an exec session. @public */
export interface ExecTtySize extends Infer<typeof ttySizeFields> {}
/** The description of {@link ExecTtySize}. @public */
export const ExecTtySizeStruct = struct<ExecTtySize>("ExecTtySize", ttySizeFields, { omitZero: true });

const inputFields = { stdin: ref(ExecIOStruct), tty_size: ref(ExecTtySizeStruct) };
/** A message of an exec session towards the task; an empty one keeps the line alive. @public */
export interface ExecInputFrame extends Infer<typeof inputFields> {}
/** The description of {@link ExecInputFrame}. @public */
export const ExecInputFrameStruct = struct<ExecInputFrame>("ExecInputFrame", inputFields, { omitZero: true });

const resultFields = { exit_code: int(32), signal: int(32) };
/** How the command of an exec session ended. @public */
export interface ExecExitResult extends Infer<typeof resultFields> {}
/** The description of {@link ExecExitResult}. @public */
export const ExecExitResultStruct = struct<ExecExitResult>("ExecExitResult", resultFields, { omitZero: true });

const outputFields = {
  stdout: ref(ExecIOStruct),
  stderr: ref(ExecIOStruct),
  exited: bool(),
  result: ref(ExecExitResultStruct),
};
/** A message of an exec session from the task. @public */
export interface ExecOutputFrame extends Infer<typeof outputFields> {}
/** The description of {@link ExecOutputFrame}. @public */
export const ExecOutputFrameStruct = struct<ExecOutputFrame>("ExecOutputFrame", outputFields, { omitZero: true });

const handshakeFields = { version: int(), auth_token: str() };
/** The first message of an exec session that carries its token inside. @public */
export interface ExecHandshake extends Infer<typeof handshakeFields> {}
/** The description of {@link ExecHandshake}. @public */
export const ExecHandshakeStruct = struct<ExecHandshake>("ExecHandshake", handshakeFields, { omitZero: true });
