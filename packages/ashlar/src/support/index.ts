export { currentDate, now, nowInSeconds, setClock } from "./clock.ts";
export { counted } from "./counted.ts";
export { dictionary, isPlainObject, isPrototypeName } from "./dictionary.ts";
export { readEnvFile } from "./env-file.ts";
export {
  AshlarError,
  type AshlarErrorOptions,
  ConfigurationError,
  ERRORS,
  type ErrorCode,
  type FieldErrors,
  ValidationError,
} from "./errors.ts";
export { isClass, isThenable } from "./kinds.ts";
export { isSpeltAlike, nearest, suggestion } from "./nearest.ts";
export { NEWEST_NODE, nodeVersionProblem } from "./node-version.ts";
export { PACKAGE_FOLDER } from "./package-folder.ts";
export type { GuardUser, Register, RegisteredUser } from "./register.ts";
export { isSecretName } from "./secret-names.ts";
export { settingsOf, unknownSetting } from "./setting-names.ts";
export { SettingsReader } from "./settings-reader.ts";
export { placeOf, SourceLocation } from "./source-location.ts";
export type { Constructor, Dictionary, EnvironmentVariables, MaybePromise } from "./types.ts";
