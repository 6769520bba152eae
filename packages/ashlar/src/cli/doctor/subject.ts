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
import { type EnvironmentVariables, isOrExtends, isPlainObject, placeOf, readEnvFile } from "../../support/index.ts";
import { type DriverSecrets, driverSecretsOf } from "../driver-secrets.ts";
import { limited } from "./limited.ts";

/** How long the boot may take, in seconds. */
const BOOT_SECONDS = 20;

/** How often each app.ts was loaded. A command line loads it once. */
const loads = new Map<string, number>();

/** The configuration files that the framework reads. */
export const SECTIONS = ["app", "auth", "api", "database", "mail", "session", "throttle", "providers"] as const;

export type SectionName = (typeof SECTIONS)[number];

/** How the application was booted, or why it wasn't. */
export interface BootOutcome {
  /** The booted application; `null` if it doesn't boot. */
  readonly application: Application | null;
  /** What the boot threw; `null` if it succeeded, or if there is nothing to boot. */
  readonly error: unknown;
  /** Whether there is a file `app.ts` that calls `createApplication`. */
  readonly hasEntry: boolean;
  /** The warnings that the boot logged. */
  readonly warnings: readonly string[];
}

/** What the checks look at: an application, loaded piece by piece, so that one broken file doesn't hide the others. */
export class Subject {
  /** The application's folder. */
  readonly root: string;
  /** Whether it is judged as in production, wherever this is. */
  readonly asProduction: boolean;
  /** The variables in `.env`; `null` if there is no such file, or it can't be read. */
  readonly written: EnvironmentVariables | null;
  /** Why `.env` can't be read. */
  readonly environmentError: unknown;
  /** `.env`, overridden by the process's variables. */
  readonly variables: EnvironmentVariables;
  /** The exports of the configuration files that could be loaded. */
  readonly sections: ReadonlyMap<SectionName, Readonly<Record<string, unknown>>>;
  /** The configuration files that couldn't be loaded, with the reason. */
  readonly failedSections: ReadonlyMap<SectionName, unknown>;
  /** Where the drivers of `config/api.ts` have their secrets from; `null` if the file can't be loaded. */
  readonly driverSecrets: DriverSecrets | null;
  readonly boot: BootOutcome;
  /** The kernel's middleware; empty if it can't be told. */
  readonly routeMiddleware: RouteMiddleware | null;
  /** What the kernel's `registerRoutes()` binds; `null` if it can't be told. */
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

  /** `APP` of `config/app.ts`; empty if it can't be read. */
  get app(): Readonly<Record<string, unknown>> {
    return this.settings("app", "APP");
  }

  /** What the application is run for; `null` if that can't be told. */
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

  /** An exported object of a configuration file; empty if there is none. */
  settings(section: SectionName, name: string): Readonly<Record<string, unknown>> {
    const { configuration } = this;
    const exported =
      configuration === null
        ? this.sections.get(section)?.[name]
        : configuration.has(section)
          ? configuration.section(section)[name]
          : undefined;
    return isPlainObject(exported) ? exported : {};
  }

  /** The providers of the application. */
  get providers(): readonly unknown[] {
    const listed = this.#options?.providers ?? this.sections.get("providers")?.PROVIDERS;
    return Array.isArray(listed) ? listed : [];
  }

  /** Reports whether a class, or one that extends it, is listed as a provider. */
  hasProvider(provider: object): boolean {
    return this.providers.some((one) => isOrExtends(one, provider));
  }

  /** Reports whether a list of the kernel has a middleware class, or one that extends it. */
  stackHas(stack: string, middleware: object): boolean {
    return (this.routeMiddleware?.[stack] ?? []).some((one) => isOrExtends(one, middleware));
  }

  /** What to know before a variable is written to `.env`; `null` if the application reads that file. */
  get envFileNote(): string | null {
    if (this.#options === null || this.#options.root !== undefined) return null;
    return "Without a root, the application reads no .env: add root: import.meta.dirname to createApplication() in app.ts.";
  }

  /** Reports whether a variable has its value from the process, not from `.env`. */
  isSetOutside(name: string): boolean {
    const value = this.variables[name];
    return value !== undefined && value !== "" && value !== this.written?.[name];
  }

  /** Reports whether the application has a file. */
  hasFile(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  /** A path as findings show it: relative to the application's folder, if it is in there. */
  pathOf(file: string): string {
    const path = relative(this.root, resolve(file));
    return path.startsWith("..") || isAbsolute(path) ? file : path.replaceAll("\\", "/");
  }

  /** The file and line of a location such as `routes/web.ts:12`. */
  placeOf(location: string): { readonly file: string | null; readonly line: number | null } {
    const [, file, line] = /^(.+):(\d+)$/.exec(location) ?? [];
    return file === undefined ? { file: null, line: null } : { file: this.pathOf(file), line: Number(line) };
  }

  /** Where an error comes from in the application's own code. */
  placeOfError(error: unknown): { readonly file: string | null; readonly line: number | null } {
    return this.placeOf(placeOf(error) ?? "");
  }

  /** Releases what the boot opened. */
  async close(): Promise<void> {
    await this.boot.application?.shutdown();
  }
}

/** What a subject is made of. */
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
  /** What `app.ts` calls `createApplication` with; `null` if it doesn't. */
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
  const warnings: string[] = [];
  const logger = createLogger(
    { name: "doctor", environment: "production", log: { level: "warn", requests: false } },
    { write: (line) => void warnings.push((JSON.parse(line) as { readonly msg: string }).msg) },
  );
  const inspection = new Inspection({ environment, logger });
  const file = ["app.ts", "app.js"].map((name) => join(root, name)).find(existsSync);
  let error: unknown = null;
  if (file !== undefined) {
    try {
      // The inspection lasts as long as the boot, even if it takes too long.
      const load = () => inspection.run(() => import(/* @vite-ignore */ nextAddress(file)));
      await limited(BOOT_SECONDS, "The boot", load);
    } catch (thrown) {
      // An app.ts that goes on to listen has booted all the same.
      if (inspection.application === null) error = thrown;
    }
  }
  const hasEntry = inspection.applicationOptions !== null;
  const boot = { application: inspection.application, error, hasEntry, warnings };
  return { boot, options: inspection.applicationOptions };
}

/** The module's address, which makes it run again if it has been loaded before. */
function nextAddress(file: string): string {
  const count = (loads.get(file) ?? 0) + 1;
  loads.set(file, count);
  return pathToFileURL(file).href + (count === 1 ? "" : `?load=${count}`);
}

/** The application's kernel by itself: it needs no boot to tell its middleware and its routes files. */
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
