import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Application } from "../boot/index.ts";
import { AshlarError } from "../support/index.ts";

/**
 * Loads a folder's booted application, the default export of its `app.ts`.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no `app.ts`, or it doesn't export an application; and startup errors
 */
export async function loadApplication(root: string): Promise<Application> {
  const file = ["app.ts", "app.js"].map((name) => join(root, name)).find(existsSync);
  if (file === undefined) {
    throw new AshlarError("E_COMMAND", `There is no app.ts in ${root}. Run the command in the application's folder.`);
  }
  const module = (await import(pathToFileURL(file).href)) as { default?: unknown };
  if (module.default instanceof Application) return module.default;
  throw new AshlarError(
    "E_COMMAND",
    `${file} does not export an application. Add: export default await createApplication({ root: import.meta.dirname, kernel: Kernel }); If the file calls listen() itself, start it with: node ${basename(file)}`,
  );
}
