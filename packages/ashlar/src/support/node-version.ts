/** The oldest Node.js that Ashlar runs on. */
const OLDEST_NODE: readonly [major: number, minor: number] = [24, 7];

/** The newest major version of Node.js that Ashlar is known to run on. */
export const NEWEST_NODE = "26";

/**
 * Says in one sentence what to do if this Node.js is too old; `null` if it is not.
 *
 * This module imports nothing, so a command can call it before loading anything that an old Node.js cannot read.
 *
 * @param version the version to check, such as `24.7.0`; default: that of the running process
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
