export { nodeVersionProblem } from "../support/index.ts";
export { type ApiInstallation, installApi } from "./api-install.ts";
export { type AuthPlan, diffOfPlan, type PlannedFile, planAuth, writeAuth } from "./auth-install.ts";
export { type NewFile, writeNewFile } from "./files.ts";
export { type FilledSecrets, fillSecrets } from "./fill-secrets.ts";
export {
  type ControllerKind,
  makeController,
  makeMiddleware,
  makeMigration,
  makeModel,
  makeProvider,
} from "./make.ts";
export { createProject, type Project, type ProjectOptions } from "./project.ts";
export type { RemainingStep } from "./remaining-steps.ts";
export { rotateKey } from "./rotate-key.ts";
