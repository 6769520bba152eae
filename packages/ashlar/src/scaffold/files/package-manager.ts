/** A package manager that can install an application. */
export type PackageManager = "npm" | "pnpm" | "yarn" | "bun";

/** All package managers. The first one comes with Node.js. */
export const PACKAGE_MANAGERS: readonly PackageManager[] = ["npm", "pnpm", "yarn", "bun"];

/** A package manager's commands, as typed by people. */
export interface ManagerCommands {
  /** Installs the packages named in package.json. */
  readonly install: string;
  /** Installs the production dependencies, in the versions of the lock file. */
  readonly installForProduction: string;
  /** Runs one of the application's scripts. */
  readonly run: (script: string) => string;
  /** Runs one of the application's scripts, with arguments. */
  readonly runWith: (script: string, args: string) => string;
  /** Runs a command of an installed package. */
  readonly exec: (command: string) => string;
}

const COMMANDS: Readonly<Record<PackageManager, ManagerCommands>> = {
  npm: {
    install: "npm install",
    installForProduction: "`npm ci --omit=dev`",
    run: (script) => (script === "test" || script === "start" ? `npm ${script}` : `npm run ${script}`),
    runWith: (script, args) => `npm run ${script} -- ${args}`,
    exec: (command) => `npx ${command}`,
  },
  pnpm: {
    install: "pnpm install",
    installForProduction: "`pnpm install --prod --frozen-lockfile`",
    run: (script) => (script === "test" || script === "start" ? `pnpm ${script}` : `pnpm run ${script}`),
    runWith: (script, args) => `pnpm run ${script} ${args}`,
    exec: (command) => `pnpm exec ${command}`,
  },
  yarn: {
    install: "yarn install",
    installForProduction:
      "`yarn workspaces focus --production` (with Yarn 1, `yarn install --production --frozen-lockfile`)",
    run: (script) => `yarn run ${script}`,
    runWith: (script, args) => `yarn run ${script} ${args}`,
    exec: (command) => `yarn run ${command}`,
  },
  bun: {
    install: "bun install",
    installForProduction: "`bun install --production --frozen-lockfile`",
    // Without `run`, Bun's own commands come first: `bun test` runs another test runner.
    run: (script) => `bun run ${script}`,
    runWith: (script, args) => `bun run ${script} ${args}`,
    exec: (command) => `bunx ${command}`,
  },
};

/** The commands of a package manager. */
export function commandsOf(manager: PackageManager): ManagerCommands {
  return COMMANDS[manager];
}

/** The package manager in a generated README's commands; npm if it has none. */
export function managerInReadme(readme: string | null): PackageManager {
  const named = PACKAGE_MANAGERS.find((manager) => readme?.includes(`\n    ${COMMANDS[manager].install}\n`));
  return named ?? "npm";
}
