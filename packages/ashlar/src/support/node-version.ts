/** The oldest Node.js that Ashlar runs on. */
const OLDEST_NODE: readonly [major: number, minor: number] = [24, 7];

/** The newest major version of Node.js that is known to run it. */
export const NEWEST_NODE = "26";

/**
 * Says in one sentence what to do where this Node.js is too old; `null` where it is not.
 *
 * This module imports nothing, so that a command can call it before it loads anything that an old Node.js cannot read.
 *
 * @param version the version to judge, such as `24.7.0`; that of the running process where left out
 */
export function nodeVersionProblem(version: string = process.versions.node): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return null;
  return (
    `Ashlar needs Node.js ${oldestMajor}.${oldestMinor} or newer and this is ${version}: run it through npm (npm start, ` +
    `npx ashlar …) after "npm install node@${NEWEST_NODE}", or install a newer Node.js from https://nodejs.org.`
  );
}
