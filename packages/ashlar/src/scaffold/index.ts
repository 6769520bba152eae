export { type ApiInstallation, installApi, type RemainingStep } from "./api-install.ts";
export { setMissingVariable } from "./env-file.ts";
export { type NewFile, writeNewFile } from "./files.ts";
export {
  type ControllerKind,
  makeController,
  makeMiddleware,
  makeMigration,
  makeModel,
  makeProvider,
} from "./make.ts";
export { createProject, type Project, type ProjectOptions } from "./project.ts";
