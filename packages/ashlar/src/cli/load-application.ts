import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Application } from "../boot/index.ts";
import { AshlarError } from "../support/index.ts";

/**
 * The booted application of a folder: what its `app.ts` exports as default.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` where there is no `app.ts`, or it exports no application; whatever the boot throws
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
    `${file} exports no application. It needs: export default await createApplication({ root: import.meta.dirname, kernel: Kernel }); A file that calls listen() itself is started with: node ${basename(file)}`,
  );
}
