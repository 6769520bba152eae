export {
  type BodyPath,
  DEPLOYMENT_KINDS,
  type DeploymentFacts,
  type DeploymentKind,
  nextSteps,
  planDeployment,
  possibleKinds,
  writeDeployment,
} from "./deployment/index.ts";
export { type ApiNames, USUAL_NAMES } from "./files/api-names.ts";
export { codeOf } from "./files/existing-files.ts";
export { type NewFile, writeNewFile } from "./files/files.ts";
export {
  type Installation,
  planInstallation,
  planMigrations,
  writeInstallation,
  writeMigrations,
} from "./install/install.ts";
export { type Feature, linesFor, linesForMixin, providersFor } from "./install/install-steps.ts";
export { loginLinkFiles } from "./install/login-links.ts";
export { passkeyFiles } from "./install/passkeys.ts";
export { personalTokenFiles } from "./install/personal-tokens.ts";
export { planPublication, writePublication } from "./install/publish.ts";
export { hasAccountRoutes } from "./install/published-stubs.ts";
export type { RemainingStep } from "./install/steps.ts";
export { twoFactorFiles } from "./install/two-factor.ts";
export { type FilledSecrets, fillSecrets, type NewEnvironment } from "./keys/fill-secrets.ts";
export {
  type JwtKeyNames,
  jwtKeyNames,
  type KeyVariables,
  variablePrefix,
  writtenKeyVariables,
} from "./keys/jwt-key-names.ts";
export { changeJwtKeys, type KeyChange } from "./keys/jwt-keys.ts";
export { promoteKey, rotateKey, stageKey } from "./keys/rotate-key.ts";
export { makeController, makeMiddleware, makeMigration, makeModel, makeProvider } from "./making/make.ts";
export { createProject, type ProjectOptions } from "./making/project.ts";
export { planUpgrade, type Upgrade, writeUpgrade } from "./upgrade/index.ts";
