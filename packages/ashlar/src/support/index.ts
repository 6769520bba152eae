export {
  AshlarError,
  asMessage,
  ConfigurationError,
  declareErrors,
  declareErrorsOf,
  ERRORS,
  type ErrorCode,
  type ErrorCodes,
  type ErrorDefinition,
  type FieldErrors,
  type FieldSentences,
  fieldErrors,
  RefusedError,
  type StatusesOf,
  ValidationError,
} from "./errors.ts";
export {
  correctClock,
  currentDate,
  now,
  nowInSeconds,
  REPEAT_PERIOD_SECONDS,
  REPEAT_SECONDS,
  repeatPeriodOf,
  setClock,
  systemTime,
} from "./execution/clock.ts";
export { ControlledDelay } from "./execution/controlled-delay.ts";
export { limited, reasonOf, TooSlowError } from "./execution/limited.ts";
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
} from "./execution/trace-channels.ts";
export { afterCommit, restoreOnRollback, UnitOfWork } from "./execution/unit-of-work.ts";
export { NEWEST_NODE, nodeVersionProblem, RUNTIME, runtimeProblem } from "./platform/node-version.ts";
export { PACKAGE_FOLDER, packageVersion } from "./platform/package-folder.ts";
export { placeOf, SourceLocation } from "./platform/source-location.ts";
export type { GuardUser, Register, RegisteredUser } from "./register.ts";
export { certificateProblem, certificateRemedy, type PemPlace, readPem } from "./settings/certificates.ts";
export { readEnvFile } from "./settings/env-file.ts";
export { declareSecretNames, isSecretName } from "./settings/secret-names.ts";
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
} from "./settings/setting-kinds.ts";
export { type Complete, listOf, recordOf, settings, unknownSetting } from "./settings/settings.ts";
export { SetupProblems, SeveralProblemsError } from "./settings/setup-problems.ts";
export {
  type Constructor,
  type Dictionary,
  dictionary,
  type EnvironmentVariables,
  isClass,
  isOrExtends,
  isPlainObject,
  isPromise,
  isPrototypeName,
  isThenable,
  type MaybePromise,
} from "./values/kinds.ts";
export { isLoopbackAddress, isLoopbackHost, withoutBrackets } from "./values/loopback.ts";
export {
  type DataSize,
  type Duration,
  isMessage,
  type Message,
  type MessageParams,
  type MessageValue,
} from "./values/message.ts";
export { isSpeltAlike, nearest, suggestion } from "./values/nearest.ts";
export { counted, escapeHtml, jsonOf, textOf } from "./values/text.ts";
