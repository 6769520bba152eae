export { certificateProblem, certificateRemedy, type PemPlace, readPem } from "./certificates.ts";
export { correctClock, currentDate, now, nowInSeconds, setClock, systemTime } from "./clock.ts";
export { ControlledDelay } from "./controlled-delay.ts";
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
  RefusedError,
  type StatusesOf,
  ValidationError,
} from "./errors.ts";
export { escapeHtml } from "./html.ts";
export { isClass, isOrExtends, isPromise, isThenable } from "./kinds.ts";
export { isLoopbackAddress, isLoopbackHost, withoutBrackets } from "./loopback.ts";
export {
  type DataSize,
  type Duration,
  isMessage,
  type Message,
  type MessageParams,
  type MessageValue,
} from "./message.ts";
export { isSpeltAlike, nearest, suggestion } from "./nearest.ts";
export { NEWEST_NODE, nodeVersionProblem, runtimeProblem } from "./node-version.ts";
export { PACKAGE_FOLDER, packageVersion } from "./package-folder.ts";
export type { GuardUser, Register, RegisteredUser } from "./register.ts";
export { REPEAT_PERIOD_SECONDS, REPEAT_SECONDS, repeatPeriodOf } from "./repeat.ts";
export { RUNTIME } from "./runtime.ts";
export { declareSecretNames, isSecretName } from "./secret-names.ts";
export {
  alternatives,
  derived,
  flag,
  fromText,
  integer,
  isLeftOut,
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
export { SetupProblems, SeveralProblemsError } from "./setup-problems.ts";
export { placeOf, SourceLocation } from "./source-location.ts";
export { jsonOf, textOf } from "./text-of.ts";
export {
  type Channel,
  type TracedHash,
  type TracedMail,
  type TracedQuery,
  type TracedRequest,
  type TraceMessage,
  type TraceMessages,
  traceChannels,
  traced,
} from "./trace-channels.ts";
export type { Constructor, Dictionary, EnvironmentVariables, MaybePromise } from "./types.ts";
export { afterCommit, restoreOnRollback, UnitOfWork } from "./unit-of-work.ts";
