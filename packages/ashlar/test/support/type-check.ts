import { join, relative } from "node:path";
import { API } from "typescript/unstable/async";

/**
 * A compiler that all applications of this process's tests share. It reads the framework's types and those of its
 * packages only once, which is more than half of a check.
 */
let compiler: API | null = null;
/** The applications that it has read. It wouldn't notice a new file in one of them. */
const read = new Set<string>();

/**
 * Checks the types of an application with its own settings, as `npm run types` would.
 *
 * @param root its folder
 * @returns the problems that the compiler reports; empty if there aren't any
 */
export async function typeProblems(root: string): Promise<string[]> {
  if (read.has(root)) {
    await compiler?.close();
    compiler = null;
    read.clear();
  }
  compiler ??= new API({ cwd: root });
  read.add(root);
  const config = join(root, "tsconfig.json");
  const snapshot = await compiler.updateSnapshot({ openProjects: [config] });
  try {
    const { program } = snapshot.getProject(config)!;
    const found = await Promise.all([
      program.getConfigFileParsingDiagnostics(),
      program.getProgramDiagnostics(),
      program.getSyntacticDiagnostics(),
      program.getGlobalDiagnostics(),
      program.getSemanticDiagnostics(),
    ]);
    return found.flat().map(({ fileName, code, text }) => `${relative(root, fileName ?? config)}: TS${code} ${text}`);
  } finally {
    await snapshot.dispose();
    await (await compiler.updateSnapshot({ closeProjects: [config] })).dispose();
  }
}
