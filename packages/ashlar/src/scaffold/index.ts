export { type ApiNames, USUAL_NAMES } from "./api-names.ts";
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
export { codeOf } from "./existing-files.ts";
export { type NewFile, writeNewFile } from "./files.ts";
export { type FilledSecrets, fillSecrets, type NewEnvironment } from "./fill-secrets.ts";
export { type Installation, planInstallation, planMigrations, writeInstallation, writeMigrations } from "./install.ts";
export { type Feature, linesFor, linesForMixin } from "./install-steps.ts";
export {
  type JwtKeyNames,
  jwtKeyNames,
  type KeyVariables,
  variablePrefix,
  writtenKeyVariables,
} from "./jwt-key-names.ts";
export { changeJwtKeys, type KeyChange } from "./jwt-keys.ts";
export {
  makeController,
  makeMiddleware,
  makeMigration,
  makeModel,
  makeProvider,
} from "./make.ts";
export { createProject, type ProjectOptions } from "./project.ts";
export { planPublication, writePublication } from "./publish.ts";
export { promoteKey, rotateKey, stageKey } from "./rotate-key.ts";
export type { RemainingStep } from "./steps.ts";
export { planUpgrade, type Upgrade, writeUpgrade } from "./upgrade/index.ts";
