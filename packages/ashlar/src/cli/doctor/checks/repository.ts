import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import { type Check, error, type Finding } from "../finding.ts";
import { type GitAnswer, git } from "../git.ts";
import { replacing, type Secret, searchedSecretsOf } from "../secrets-of.ts";
import type { Subject } from "../subject.ts";

/** The number of commits that are checked, of the latest ones that changed `.env`. */
const COMMITS = 50;

/** Finds secrets in the repository. */
export const REPOSITORY: Check = {
  name: "Repository",
  needsBoot: false,
  seconds: 30,
  async obstacle(subject: Subject): Promise<string | null> {
    if (!isInRepository(subject.root)) return null;
    const inside = await placeOf(subject);
    if (inside === null) return "git is not installed";
    if (inside.code === 0 || inside.errors.includes("not a git repository")) return null;
    if (!inside.errors.includes("dubious ownership")) return "git can't read the repository";
    return "the repository belongs to another user, whose settings git doesn't trust: run this as that user";
  },
  async run(subject: Subject): Promise<Finding[]> {
    const { root } = subject;
    const inside = await placeOf(subject);
    if (inside?.output.trim() !== "true") return [];
    const secrets = searchedSecretsOf(subject);
    const found = await Promise.all([
      ignoredFindings(root),
      trackedFileFindings(subject, secrets),
      historyFindings(subject, secrets),
    ]);
    return found.flat();
  },
};

/** Git's answers, by application folder. */
const PLACES = new WeakMap<Subject, Promise<GitAnswer | null>>();

/** Asks git, once, whether an application is in a repository. */
function placeOf(subject: Subject): Promise<GitAnswer | null> {
  const place = PLACES.get(subject) ?? git(subject.root, ["rev-parse", "--is-inside-work-tree"]);
  PLACES.set(subject, place);
  return place;
}

/** Reports whether there is a repository here, or in a parent folder. */
function isInRepository(root: string): boolean {
  for (let folder = root; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return true;
    if (folder === dirname(folder)) return false;
  }
}

async function ignoredFindings(root: string): Promise<Finding[]> {
  const tracked = await git(root, ["ls-files", "--error-unmatch", "--", ".env"]);
  const ignored = await git(root, ["check-ignore", "--quiet", "--no-index", "--", ".env"]);
  const findings: Finding[] = [];
  if (tracked?.code === 0) {
    const problem = "Git tracks .env, so everyone who has the repository has the secrets.";
    const note = "Commit that, and replace the secrets: they remain in earlier commits.";
    findings.push(error("env.tracked", { file: ".env", problem, run: "git rm --cached .env", note }));
  }
  if (ignored?.code === 1) {
    const problem = "Git doesn't ignore .env, so the secrets get into the repository with the next git add.";
    findings.push(error("env.ignored", { file: ".gitignore", problem, lines: [".env"] }));
  }
  return findings;
}

async function trackedFileFindings(subject: Subject, secrets: readonly Secret[]): Promise<Finding[]> {
  const all = await git(
    subject.root,
    ["grep", "-l", "-F", "-I", "-f", "-"],
    secrets.map(({ value }) => `${value}\n`).join(""),
  );
  if (secrets.length === 0 || all?.code !== 0) return [];
  const findings: Finding[] = [];
  for (const secret of secrets) {
    const found = await git(subject.root, ["grep", "-n", "-z", "-F", "-I", "-f", "-"], `${secret.value}\n`);
    // The line itself contains the secret, so only the file and the line number are used.
    const places = [...(found?.output ?? "").matchAll(/^([^\0\n]+)\0(\d+)\0/gm)].filter(([, file]) => file !== ".env");
    const [first] = places;
    if (first === undefined) continue;
    const problem = `${first[1]} is in the repository and contains the value of ${secret.name}.`;
    findings.push(
      error("secret.tracked", { file: first[1]!, line: Number(first[2]), problem, ...renewing(subject, secret) }),
    );
  }
  return findings;
}

async function historyFindings(subject: Subject, secrets: readonly Secret[]): Promise<Finding[]> {
  const { root } = subject;
  const log = await git(root, ["log", `--max-count=${COMMITS}`, "--format=%H", "HEAD", "--", ".env"]);
  if (log === null || log.code !== 0) return [];
  const found = new Map<string, { readonly secret: Secret; readonly commit: string }>();
  for (const commit of log.output.split("\n").filter((line) => line !== "")) {
    // `git show` would run a filter from the repository's configuration.
    const file = await git(root, ["cat-file", "blob", `${commit}:./.env`]);
    if (file === null || file.code !== 0) continue;
    const values = Object.values(parseEnv(file.output)).join("\n");
    for (const secret of secrets) {
      if (values.includes(secret.value) && !found.has(secret.name)) found.set(secret.name, { secret, commit });
    }
  }
  return [...found.values()].map(({ secret, commit }) => {
    const problem = `${secret.name} is in an earlier commit of .env (${commit.slice(0, 12)}): everyone who has the repository has it.`;
    return error("secret.history", { file: ".env", problem, ...renewing(subject, secret) });
  });
}

function renewing(subject: Subject, secret: Secret): Partial<Parameters<typeof error>[1]> {
  const { name, isGenerated } = secret;
  if (isGenerated) return replacing(subject, secret);
  if (name === "APP_PREVIOUS_KEYS") return { in: ".env", lines: ["APP_PREVIOUS_KEYS="] };
  return { note: `Change the password on its server, and set the new one as ${name} in .env only.` };
}
