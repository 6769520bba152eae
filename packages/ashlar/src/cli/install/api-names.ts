import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { tableOf } from "../../auth/index.ts";
import { findModule, importModule } from "../../boot/index.ts";
import { flattenEntries, type RouteDefinition } from "../../routing/index.ts";
import { type ApiNames, USUAL_NAMES } from "../../scaffold/index.ts";
import { isPlainObject, PACKAGE_FOLDER, reasonOf } from "../../support/index.ts";
import { issuingDriversOf } from "../doctor/checks/api.ts";
import { Subject } from "../doctor/subject.ts";

const COMMAND = join(PACKAGE_FOLDER, "bin/ashlar.js");
/** How long an application may take to load, in milliseconds. */
const TIMEOUT_MS = 30_000;
/** The beginning of the line with the names. All other output of the process comes from the application. */
const MARK = "ashlar api names: ";

/** The names in an application's API, as reported by the application. */
export interface ReadNames {
  readonly names: ApiNames;
  /** The reason for using the default names instead; `null` if they aren't used. */
  readonly problem: string | null;
}

/**
 * Reads the names in an application's API. The application is loaded in another process, because a module that is
 * already loaded doesn't show the command's changes.
 *
 * @param root the application's folder
 */
export async function apiNamesOf(root: string): Promise<ReadNames> {
  if (!["app.ts", "app.js"].some((file) => existsSync(join(root, file)))) return { names: USUAL_NAMES, problem: null };
  const child = spawn(process.execPath, [COMMAND, "api:install", "--print-names"], {
    cwd: root,
    stdio: ["ignore", "pipe", "ignore"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  const line = output.split("\n").find((one) => one.startsWith(MARK));
  if (line === undefined) return { names: USUAL_NAMES, problem: "its process ended, or took too long" };
  return JSON.parse(line.slice(MARK.length)) as ReadNames;
}

/** The line for {@link apiNamesOf} to read. This process loads the application. */
export async function namesLine(root: string): Promise<string> {
  return MARK + JSON.stringify(await readNames(root));
}

async function readNames(root: string): Promise<ReadNames> {
  const subject = await Subject.load(root, false);
  try {
    if (!subject.boot.hasEntry && subject.boot.error !== null) {
      return { names: USUAL_NAMES, problem: reasonOf(subject.boot.error) };
    }
    return { names: { ...USUAL_NAMES, ...(await namesIn(subject)) }, problem: null };
  } catch (error) {
    return { names: USUAL_NAMES, problem: reasonOf(error) };
  } finally {
    await subject.close().catch(() => {});
  }
}

/** The names that the author has chosen. */
async function namesIn(subject: Subject): Promise<Partial<ApiNames>> {
  const { bindings } = subject;
  const bound = bindings?.has("routes.api.location") === true;
  const location = bound ? { location: bindings!.make("routes.api.location") } : {};
  const hasPrefix = bindings?.has("routes.api.prefix") === true;
  // If a location is bound, but no prefix, the routes have no prefix.
  const prefix = hasPrefix ? { prefix: bindings.make("routes.api.prefix") } : bound ? { prefix: "" } : {};
  return { ...location, ...prefix, ...(await pathsIn(subject)), ...(await columnsIn(subject)) };
}

/** The paths of the first `Api.routes()`. They are known even before the application can boot. */
async function pathsIn({ root, bindings }: Subject): Promise<Partial<ApiNames>> {
  if (bindings?.has("routes.location") !== true) return {};
  const file = findModule(root, bindings.make("routes.location"));
  const { ROUTES } = file === null ? {} : await importModule(root, file);
  const routes = Array.isArray(ROUTES) ? flattenEntries(ROUTES, () => {}) : [];
  const [auth, reauth] = ["issue", "renew"].map((method) => routes.find((route) => isEndpoint(route, method)));
  return {
    ...(auth !== undefined && { authPath: auth.attributes.path }),
    ...(reauth !== undefined && { reauthPath: reauth.attributes.path }),
  };
}

function isEndpoint({ attributes: { action, mark } }: RouteDefinition, method: string): boolean {
  return mark?.madeBy === "Api.routes" && Array.isArray(action) && action[1] === method;
}

/** The table and columns of the class of users that get tokens. */
async function columnsIn(subject: Subject): Promise<Partial<ApiNames>> {
  const [driver] = issuingDriversOf(subject);
  const users = driver?.model ?? (await userClassIn(subject));
  if (users === null) return {};
  const { tokenColumn, accessEpochColumn } = users;
  const table = tableOf(users);
  return {
    ...(table !== null && { table }),
    ...(typeof accessEpochColumn === "string" && { epochColumn: accessEpochColumn }),
    ...(typeof tokenColumn === "string" ? { tokenColumn } : driver?.hasMany === true && { tokenColumn: null }),
  };
}

async function userClassIn(subject: Subject): Promise<Readonly<Record<string, unknown>> | null> {
  const guards = Object.values(subject.settings("auth", "GUARDS")).filter(isPlainObject);
  const model = guards.find((guard) => Object(guard.model) === guard.model)?.model;
  if (model !== undefined) return model as Readonly<Record<string, unknown>>;
  const file = findModule(subject.root, "app/models/user");
  const { User } = file === null ? {} : await importModule(subject.root, file);
  return typeof User === "function" ? (User as unknown as Readonly<Record<string, unknown>>) : null;
}
