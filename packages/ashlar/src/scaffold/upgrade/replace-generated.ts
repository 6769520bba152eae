import { join } from "node:path";
import { codeOf } from "../files/existing-files.ts";
import { replaceFile, withLineEndsOf, writeNewFile } from "../files/files.ts";
import { planInstallation, planMigrations } from "../install/install.ts";
import type { RemainingStep } from "../install/steps.ts";
import type { GeneratedFiles } from "./generated-files.ts";

/**
 * Brings an application's generated files to this version. Creates missing files, and replaces files that haven't been
 * changed since a version generated them. Files that the author has changed stay.
 *
 * @param texts the application's files before the upgrade, by path
 * @param lists lists to add files to: files that stay to `own`, and replaced ones to `outdated`
 */
export async function replaceGenerated(
  root: string,
  generated: GeneratedFiles,
  texts: ReadonlyMap<string, string>,
  { own, outdated }: { readonly own: string[]; readonly outdated: Set<string> },
): Promise<readonly RemainingStep[]> {
  const remaining: RemainingStep[] = [];
  const routes = await codeOf(root, "routes/web.ts");
  const providers = await codeOf(root, "config/providers.ts");
  if (/\bAuth\.routes\(/.test(routes)) {
    const plan = await planInstallation(root, /\bjson\s*:\s*true\b/.test(routes) ? "json" : "pages");
    for (const { path, text, before, isInTheWay } of plan.files) {
      if (before === null) await writeNewFile(root, { path, text });
      else if (!isInTheWay || generated.isUnchanged(path, texts.get(path) ?? before)) {
        await replaceFile(join(root, path), withLineEndsOf(before, text));
        if (isInTheWay) outdated.add(path);
      } else own.push(path);
    }
    remaining.push(...plan.remaining);
  }
  if (/\bApiProvider\b/.test(providers)) {
    for (const file of (await planMigrations(root, "api")).files) await writeNewFile(root, file);
  }
  return remaining;
}
