import { join } from "node:path";
import { AshlarError } from "../../support/index.ts";
import { readIfThere } from "../files/existing-files.ts";
import { replaceFile, withLineEndsOf, writeAllOrNone } from "../files/files.ts";
import type { Installation, PlannedFile } from "../install/install.ts";
import type { DeploymentFacts } from "./deployment-facts.ts";
import { DEPLOYMENT_KINDS, type DeploymentKind, deploymentFiles } from "./deployment-files.ts";

/** The kinds of deployment files that an application can have. */
export function possibleKinds({ dialect }: DeploymentFacts): readonly DeploymentKind[] {
  return DEPLOYMENT_KINDS.filter((kind) => kind !== "kubernetes" || dialect !== "sqlite");
}

/**
 * Plans the deployment files without writing them. Omits files that are already in place.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application in the folder, or it can't be deployed in this way
 */
export async function planDeployment(
  root: string,
  kinds: readonly DeploymentKind[],
  facts: DeploymentFacts,
): Promise<Installation> {
  if (!kinds.every((kind) => possibleKinds(facts).includes(kind))) {
    throw new AshlarError(
      "E_COMMAND",
      "Kubernetes runs instances on several machines, but SQLite is one file on one of them. Use PostgreSQL or MariaDB: " +
        "npx ashlar db:copy moves the rows.",
    );
  }
  const files: PlannedFile[] = [];
  for (const { path, text } of await deploymentFiles(root, kinds, facts)) {
    const before = await readIfThere(root, path);
    const after = withLineEndsOf(before, text);
    if (after !== before) files.push({ path, text: after, before, isInTheWay: before !== null });
  }
  return { files, environment: null, remaining: [] };
}

/**
 * Writes the planned files.
 *
 * @param force whether to overwrite files that differ
 * @throws `E_COMMAND` if files would have to be overwritten; nothing is written then
 */
export async function writeDeployment(root: string, { files }: Installation, force: boolean): Promise<void> {
  const blocking = files.filter(({ isInTheWay }) => isInTheWay);
  if (blocking.length > 0 && !force) {
    throw new AshlarError(
      "E_COMMAND",
      `These files differ from what would be written:\n${blocking.map(({ path }) => `  ${path}`).join("\n")}\n` +
        "Nothing was written. Use --dry-run to see the differences, --force to overwrite these files, or name what to " +
        "write: npx ashlar make:deploy nginx",
    );
  }
  const added = files.filter(({ before }) => before === null);
  await writeAllOrNone(root, added, async () => {
    for (const { path, text } of blocking) await replaceFile(join(root, path), text);
  });
}
