import { existsSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseEnv } from "node:util";
import {
  type Application,
  type ApplicationOptions,
  type Configuration,
  createLogger,
  type EnvironmentName,
  environmentName,
  Inspection,
  loadConfiguration,
  readEnvironment,
} from "../../boot/index.ts";
import { Container, type HttpKernel, type RouteMiddleware } from "../../kernel/index.ts";
import {
  type EnvironmentVariables,
  isOrExtends,
  isPlainObject,
  limited,
  placeOf,
  readEnvFile,
} from "../../support/index.ts";
import { type DriverSecrets, driverSecretsOf } from "../secrets/driver-secrets.ts";

/** The time limit for startup, in seconds. */
const BOOT_SECONDS = 20;

/** How often each app.ts has been loaded. A single command loads it once. */
const loads = new Map<string, number>();

/** The configuration files used by the framework. */
export const SECTIONS = ["app", "auth", "api", "database", "mail", "session", "throttle", "providers"] as const;

export type SectionName = (typeof SECTIONS)[number];

/** The result of booting the application. */
export interface BootOutcome {
  /** The booted application; `null` if it doesn't boot. */
  readonly application: Application | null;
  /** The error that failed startup; `null` if it succeeded, or if there is nothing to boot. */
  readonly error: unknown;
  /** Whether there is a file `app.ts` that calls `createApplication`. */
  readonly hasEntry: boolean;
  /** The warnings that were logged during startup. */
  readonly warnings: readonly StartupWarning[];
}

/** A warning that was logged during startup. */
interface StartupWarning {
  readonly message: string;
  /** The id of the finding that a check reports about the same problem; `null` if none does. */
  readonly finding: string | null;
}

/** The application that is checked. It is loaded piece by piece, so that one broken file doesn't hide the others. */
export class Subject {
  /** The application's folder. */
  readonly root: string;
  /** Whether it is checked as if in production. */
  readonly asProduction: boolean;
  /** The variables in `.env`; `null` if the file is missing or can't be read. */
  readonly written: EnvironmentVariables | null;
  /** Why `.env` can't be read. */
  readonly environmentError: unknown;
  /** The variables in `.env`, overridden by the process's. */
  readonly variables: EnvironmentVariables;
  /** The exports of the configuration files that could be loaded. */
  readonly sections: ReadonlyMap<SectionName, Readonly<Record<string, unknown>>>;
  /** The configuration files that couldn't be loaded, with the reason. */
  readonly failedSections: ReadonlyMap<SectionName, unknown>;
  /** The sources of the drivers' secrets in `config/api.ts`; `null` if the file can't be loaded. */
  readonly driverSecrets: DriverSecrets | null;
  readonly boot: BootOutcome;
  /** The kernel's middleware; empty if unknown. */
  readonly routeMiddleware: RouteMiddleware | null;
  /** The values that the kernel's `registerRoutes()` binds; `null` if unknown. */
  readonly bindings: Container | null;
  readonly #options: ApplicationOptions | null;

  private constructor(parts: Parts) {
    this.root = parts.root;
    this.asProduction = parts.asProduction;
    this.written = parts.written;
    this.environmentError = parts.environmentError;
    this.variables = parts.variables;
    this.sections = parts.sections;
    this.failedSections = parts.failedSections;
    this.driverSecrets = parts.driverSecrets;
    this.boot = parts.boot;
    this.#options = parts.options;
    const kernel = kernelOf(parts.options);
    this.routeMiddleware = kernel?.kernel.routeMiddleware ?? null;
    this.bindings = kernel?.bindings ?? null;
  }

  /**
   * Loads an application, without connecting to a database, creating a file or listening.
   *
   * @param asProduction whether to load it as if `APP_ENV` were `production`
   */
  static async load(root: string, asProduction: boolean): Promise<Subject> {
    const environment: EnvironmentVariables = asProduction ? { APP_ENV: "production" } : {};
    const { written, environmentError, variables } = readVariables(root, environment);
    const sections = new Map<SectionName, Readonly<Record<string, unknown>>>();
    const failedSections = new Map<SectionName, unknown>();
    for (const name of SECTIONS) {
      try {
        const loaded = await loadConfiguration(root, variables, {}, name);
        if (loaded.has(name)) sections.set(name, loaded.section(name));
      } catch (error) {
        failedSections.set(name, error);
      }
    }
    const { boot, options } = await bootedBy(root, environment);
    const driverSecrets = await driverSecretsOf(root, variables).catch(() => null);
    return new Subject({
      ...{ root, asProduction, written, environmentError, variables, sections, failedSections, boot, options },
      driverSecrets,
    });
  }

  /** `APP` in `config/app.ts`; empty if it can't be read. */
  get app(): Readonly<Record<string, unknown>> {
    return this.settings("app", "APP");
  }

  /** The application's environment; `null` if unknown. */
  get environment(): EnvironmentName | null {
    const { environment = null } = this.app as { readonly environment?: EnvironmentName };
    try {
      return environmentName(this.variables, environment);
    } catch {
      return this.asProduction ? "production" : null;
    }
  }

  get isProduction(): boolean {
    return this.environment === "production";
  }

  /** The configuration as the application reads it; `null` if it doesn't boot. */
  get configuration(): Configuration | null {
    return this.boot.application?.config ?? null;
  }

  /** A configuration file's exported object; empty if there isn't one. */
  settings(section: SectionName, name: string): Readonly<Record<string, unknown>> {
    return this.exported(section, name) ?? {};
  }

  /** An exported object of any configuration file; `null` if there isn't one. */
  exported(section: string, name: string): Readonly<Record<string, unknown>> | null {
    const { configuration } = this;
    const exported =
      configuration === null
        ? this.sections.get(section as SectionName)?.[name]
        : configuration.has(section as SectionName)
          ? configuration.section(section as SectionName)[name]
          : undefined;
    return isPlainObject(exported) ? exported : null;
  }

  /** The application's providers. */
  get providers(): readonly unknown[] {
    const listed = this.#options?.providers ?? this.sections.get("providers")?.PROVIDERS;
    return Array.isArray(listed) ? listed : [];
  }

  /** Reports whether a class or a subclass of it is listed as a provider. */
  hasProvider(provider: object): boolean {
    return this.providers.some((one) => isOrExtends(one, provider));
  }

  /** Reports whether one of the kernel's lists contains a middleware class or a subclass of it. */
  stackHas(stack: string, middleware: object): boolean {
    return (this.routeMiddleware?.[stack] ?? []).some((one) => isOrExtends(one, middleware));
  }

  /** A note for variables that are written to `.env`; `null` if the application reads that file. */
  get envFileNote(): string | null {
    if (this.#options === null || this.#options.root !== undefined) return null;
    return "Without a root, the application reads no .env: add root: import.meta.dirname to createApplication() in app.ts.";
  }

  /** Reports whether a variable's value comes from the process, and not from `.env`. */
  isSetOutside(name: string): boolean {
    const value = this.variables[name];
    return value !== undefined && value !== "" && value !== this.written?.[name];
  }

  /** Reports whether the application has a file. */
  hasFile(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  /** A path as shown in findings: relative to the application's folder, if it is inside. */
  pathOf(file: string): string {
    const path = relative(this.root, resolve(file));
    return path.startsWith("..") || isAbsolute(path) ? file : path.replaceAll("\\", "/");
  }

  /** The file and line of a location such as `routes/web.ts:12`. */
  placeOf(location: string): { readonly file: string | null; readonly line: number | null } {
    const [, file, line] = /^(.+):(\d+)$/.exec(location) ?? [];
    return file === undefined ? { file: null, line: null } : { file: this.pathOf(file), line: Number(line) };
  }

  /** The location in the application's own code that an error comes from. */
  placeOfError(error: unknown): { readonly file: string | null; readonly line: number | null } {
    return this.placeOf(placeOf(error) ?? "");
  }

  /** Releases the resources that startup opened. */
  async close(): Promise<void> {
    await this.boot.application?.shutdown();
  }
}

/** The parts of a subject. */
interface Parts
  extends Pick<
    Subject,
    | "root"
    | "asProduction"
    | "written"
    | "environmentError"
    | "variables"
    | "sections"
    | "failedSections"
    | "driverSecrets"
    | "boot"
  > {
  /** The arguments of `createApplication` in `app.ts`; `null` if it isn't called. */
  readonly options: ApplicationOptions | null;
}

function readVariables(
  root: string,
  given: EnvironmentVariables,
): Pick<Parts, "written" | "environmentError" | "variables"> {
  try {
    const text = readEnvFile(join(root, ".env"));
    const variables = readEnvironment(root, given);
    return { written: text === null ? null : parseEnv(text), environmentError: null, variables };
  } catch (error) {
    return { written: null, environmentError: error, variables: readEnvironment(null, given) };
  }
}

async function bootedBy(
  root: string,
  environment: EnvironmentVariables,
): Promise<{ readonly boot: BootOutcome; readonly options: ApplicationOptions | null }> {
  const warnings: StartupWarning[] = [];
  const logger = createLogger(
    { name: "doctor", environment: "production", log: { level: "warn", requests: false } },
    { write: (line) => void warnings.push(warningIn(line)) },
  );
  const inspection = new Inspection({ environment, logger });
  const file = ["app.ts", "app.js"].map((name) => join(root, name)).find(existsSync);
  let error: unknown = null;
  if (file !== undefined) {
    try {
      // The inspection lasts until startup ends, even if startup takes too long.
      const load = () => inspection.run(() => import(/* @vite-ignore */ nextAddress(file)));
      await limited(BOOT_SECONDS, "The boot", load);
    } catch (thrown) {
      // An app.ts that also listens has still booted.
      if (inspection.application === null) error = thrown;
    }
  }
  const hasEntry = inspection.applicationOptions !== null;
  const boot = { application: inspection.application, error, hasEntry, warnings };
  return { boot, options: inspection.applicationOptions };
}

/** Reads a line of the log. */
function warningIn(line: string): StartupWarning {
  const { msg, finding = null } = JSON.parse(line) as { readonly msg: string; readonly finding?: string };
  return { message: msg, finding };
}

/** The module's URL. It makes the module run again if it has been loaded before. */
function nextAddress(file: string): string {
  const count = (loads.get(file) ?? 0) + 1;
  loads.set(file, count);
  return pathToFileURL(file).href + (count === 1 ? "" : `?load=${count}`);
}

/** The application's kernel alone. Its middleware and routes files are known without booting. */
function kernelOf(
  options: ApplicationOptions | null,
): { readonly kernel: HttpKernel; readonly bindings: Container } | null {
  if (options?.kernel === undefined) return null;
  try {
    const bindings = new Container();
    const kernel = new options.kernel(bindings);
    kernel.registerRoutes();
    return { kernel, bindings };
  } catch {
    return null;
  }
}
