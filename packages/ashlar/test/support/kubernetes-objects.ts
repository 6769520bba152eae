import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";

/** A Kubernetes object, as written in the file. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  // biome-ignore lint/suspicious/noExplicitAny: it has another form for each kind, which the types of Kubernetes check.
  readonly spec: any;
}

/** Reads the objects in a file. */
export function kubernetesObjects(text: string): KubernetesObject[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    return document.toJS() as KubernetesObject;
  });
}

/** The module with an API's types: `apps/v1`, or `core/v1` for the API without a group. */
function moduleOf(apiVersion: string): string {
  const [group = "", version] = apiVersion.includes("/") ? apiVersion.split("/") : ["core", apiVersion];
  return `kubernetes-types/${group.split(".")[0]}/${version}`;
}

/**
 * Checks objects against the types from Kubernetes' own schema: unknown fields, missing fields, values of the wrong
 * type.
 */
export async function kubernetesProblems(objects: readonly KubernetesObject[]): Promise<string> {
  // The compiler only finds the types from inside the repository.
  const folder = await mkdtemp(join(import.meta.dirname, "../../.generated-kubernetes-"));
  try {
    const lines = objects.map((object, index) => {
      const type = `import("${moduleOf(object.apiVersion)}").${object.kind}`;
      return `export const object${index}: ${type} = ${JSON.stringify(object)};`;
    });
    const file = join(folder, "objects.ts");
    await writeFile(file, lines.join("\n"));
    const args = [
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "esnext",
      "--moduleResolution",
      "bundler",
      "--ignoreConfig",
      file,
    ];
    const tsc = join(import.meta.dirname, "../../../../node_modules/typescript/bin/tsc");
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, ...args]).catch(
      (error: { stdout: string }) => error,
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true });
  }
}
