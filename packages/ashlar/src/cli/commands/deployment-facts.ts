import { type Application, type ApplicationSettings, Inspection } from "../../boot/index.ts";
import { AWAY_PAGE, beforeSecret, type PageSentences, TOO_LARGE_PAGE } from "../../kernel/index.ts";
import type { BodyPath, DeploymentFacts } from "../../scaffold/index.ts";
import { completeServerSettings } from "../../server/index.ts";
import { AshlarError } from "../../support/index.ts";
import { loadApplication } from "../load-application.ts";

/** The author's choices for a deployment. */
export interface DeploymentChoices {
  /** The host that visitors use; default: the host of `APP_URL`, if it is https. */
  readonly domain?: string | undefined;
  /** The maximum number of concurrent requests per instance; `null` for each proxy's default. */
  readonly maxRequests: number | null;
  /** Whether the deployment includes a Redis server. */
  readonly redis: boolean;
}

/** A placeholder for a host that isn't known yet. */
const EXAMPLE_DOMAIN = "shop.example";
const DEFAULT_PORT = 3000;
const LAST_PORT = 65_535;
const HOST =
  /^(?=.{1,253}$)(?!\d+(?:\.\d+)*$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

/**
 * Reads the facts about an application that are needed for its deployment files, without connecting to its database.
 *
 * @param root the application's folder
 * @throws `E_COMMAND` if there is no application, or the domain is not a host name; and the errors of its startup
 */
export async function deploymentFacts(root: string, choices: DeploymentChoices): Promise<DeploymentFacts> {
  const application = await new Inspection().run(() => loadApplication(root));
  try {
    const { domain, maxRequests, redis } = choices;
    return { ...factsOf(application), domain: domainOf(application, domain), maxRequests, redis };
  } finally {
    await application.shutdown();
  }
}

function factsOf(application: Application): Omit<DeploymentFacts, "domain" | "maxRequests" | "redis"> {
  const { settings, container, router } = application;
  // The command usually runs in development, which has a different default.
  const { APP } = application.config.optionalSection("app", ["APP"]) as { readonly APP?: ApplicationSettings };
  const drainSeconds = APP?.server?.drainSeconds ?? null;
  const server = completeServerSettings({ ...settings.server, drainSeconds }, true);
  const database = container.has("database") ? container.make("database") : null;
  const limits = [settings.limits.maxBodyBytes, settings.limits.maxMultipartBytes];
  const maxBodyBytes = Math.max(...limits);
  const bodyPaths = bodyPathsOf(application, maxBodyBytes);
  return {
    title: settings.name,
    away: pageIn(application, AWAY_PAGE),
    tooLarge: pageIn(application, TOO_LARGE_PAGE),
    hosts: settings.hosts === null ? [] : settings.hosts.listed,
    port: server.port > 0 && server.port < LAST_PORT ? server.port : DEFAULT_PORT,
    up: server.health?.up ?? null,
    ready: server.health?.ready ?? null,
    drainSeconds: server.drainSeconds,
    shutdownSeconds: server.shutdownTimeoutSeconds,
    secretPaths: router.routes
      .map(({ pattern }) => beforeSecret(pattern))
      .filter((start) => start !== null)
      .map((start) => settings.basePath + start),
    maxBodyBytes,
    uploadBytes: uploadBytesOf(application, maxBodyBytes, bodyPaths),
    bodyPaths,
    connection: database?.settings.default ?? null,
    dialect: database?.dialect.name ?? null,
  };
}

/** Renders a page in the application's default language. */
function pageIn({ messages }: Application, { heading, text, again }: PageSentences): DeploymentFacts["away"] {
  const language = messages.defaultLanguage;
  const t = messages.translator(language);
  return { language, heading: t(heading), text: t(text), again: again === undefined ? null : t(again) };
}

/** The space for uploads in the system's temporary folder; 0 if they fit into memory, or have their own folder. */
function uploadBytesOf({ settings }: Application, maxBodyBytes: number, bodyPaths: readonly BodyPath[]): number {
  const { maxDiskBytes, maxFormMemoryBytes } = settings.limits;
  const stored = bodyPaths.filter(({ isStreamed }) => !isStreamed).map(({ maxBytes }) => maxBytes);
  const needsDisk = Math.max(maxBodyBytes, ...stored) > maxFormMemoryBytes;
  return settings.uploadFolder === null && needsDisk ? maxDiskBytes : 0;
}

/** The routes that stream bodies, or accept larger ones than usual. Routes with the same path are combined. */
function bodyPathsOf({ settings, router }: Application, usualBytes: number): readonly BodyPath[] {
  const paths = new Map<string, BodyPath>();
  for (const { pattern, bodyLimitBytes, streamsBody, streamsFiles } of router.routes) {
    const isStreamed = streamsBody === true || streamsFiles === true;
    const usual = streamsFiles === true ? settings.limits.maxMultipartBytes : settings.limits.maxBodyBytes;
    const maxBytes = bodyLimitBytes ?? usual;
    if (!isStreamed && maxBytes <= usualBytes) continue;
    const path = settings.basePath + pattern;
    const other = paths.get(path);
    paths.set(path, {
      pattern: path,
      maxBytes: Math.max(maxBytes, other?.maxBytes ?? 0),
      isStreamed: isStreamed || other?.isStreamed === true,
    });
  }
  return [...paths.values()];
}

function domainOf({ settings }: Application, chosen: string | undefined): string {
  if (chosen !== undefined) {
    if (HOST.test(chosen)) return chosen;
    throw new AshlarError("E_COMMAND", `"${chosen}" is not a host name. Write it like --domain shop.example`);
  }
  const url = settings.url === null ? null : new URL(settings.url);
  return url?.protocol === "https:" && HOST.test(url.hostname) ? url.hostname : EXAMPLE_DOMAIN;
}
