export { currentDate, now, nowInSeconds, setClock } from "./clock.ts";
export { counted } from "./counted.ts";
export { dictionary, isPlainObject, isPrototypeName } from "./dictionary.ts";
export { readEnvFile } from "./env-file.ts";
export {
  AshlarError,
  asMessage,
  ConfigurationError,
  declareErrors,
  ERRORS,
  type ErrorCode,
  type ErrorCodes,
  type FieldErrors,
  type FieldSentences,
  fieldErrors,
  ValidationError,
} from "./errors.ts";
export { escapeHtml } from "./html.ts";
export { isClass, isThenable } from "./kinds.ts";
export type { Duration, Message, MessageParams, MessageValue } from "./message.ts";
export { isSpeltAlike, nearest, suggestion } from "./nearest.ts";
export { NEWEST_NODE, nodeVersionProblem } from "./node-version.ts";
export { PACKAGE_FOLDER } from "./package-folder.ts";
export type { GuardUser, Register, RegisteredUser } from "./register.ts";
export { declareSecretNames, isSecretName } from "./secret-names.ts";
export {
  alternatives,
  derived,
  flag,
  fromText,
  integer,
  minutes,
  notBlank,
  number,
  type Optional,
  oneOf,
  quoted,
  type Setting,
  type SettingRule,
  seconds,
  setting,
  shape,
  text,
  textLike,
} from "./setting-kinds.ts";
export {
  type Complete,
  listOf,
  recordOf,
  settings,
  unknownSetting,
} from "./settings.ts";
export { placeOf, SourceLocation } from "./source-location.ts";
export type { Constructor, Dictionary, EnvironmentVariables, MaybePromise } from "./types.ts";
