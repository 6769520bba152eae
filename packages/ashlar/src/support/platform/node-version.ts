/** The oldest Node.js that Ashlar runs on. */
const OLDEST_NODE: readonly [major: number, minor: number] = [24, 7];

/** The newest major version of Node.js that Ashlar is known to run on. */
export const NEWEST_NODE = "26";

/** The oldest versions of other runtimes that Ashlar is tested on, with the command that updates them. */
const OTHERS = [
  { key: "bun", name: "Bun", oldest: [1, 4], update: "bun upgrade" },
  { key: "deno", name: "Deno", oldest: [2, 9], update: "deno upgrade" },
] as const;

/**
 * Returns a sentence that says what to do if this process's runtime is too old; `null` if it isn't. Bun and Deno also
 * report the version of Node.js that they emulate.
 */
export function runtimeProblem(
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): string | null {
  for (const { key, name, oldest, update } of OTHERS) {
    const version = versions[key];
    if (version === undefined) continue;
    if (isAtLeast(version, oldest)) return null;
    return `Ashlar needs ${name} ${oldest.join(".")} or newer and this is ${version}: run "${update}".`;
  }
  return nodeVersionProblem(versions.node);
}

/**
 * Returns a sentence that says what to do if this Node.js is too old; `null` if it isn't.
 *
 * This module imports nothing, so a command can call it before loading anything that an old Node.js cannot read.
 *
 * @param version the version to check, such as `24.7.0`; default: the running process's version
 */
export function nodeVersionProblem(version: string = process.versions.node): string | null {
  if (isAtLeast(version, OLDEST_NODE)) return null;
  return (
    `Ashlar needs Node.js ${OLDEST_NODE.join(".")} or newer and this is ${version}: run it through npm (npm start, ` +
    `npx ashlar …) after "npm install node@${NEWEST_NODE}", or install a newer Node.js from https://nodejs.org.`
  );
}

function isAtLeast(version: string, [oldestMajor, oldestMinor]: readonly [major: number, minor: number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** The runtime of this process. Bun and Deno also report the version of Node.js that they emulate. */
export const RUNTIME: "node" | "bun" | "deno" =
  process.versions.bun !== undefined ? "bun" : process.versions.deno !== undefined ? "deno" : "node";
