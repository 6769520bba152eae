import type { ProxyPage } from "./proxy-pages.ts";

/** The path of a route that has its own body limit, or streams bodies. */
export interface BodyPath {
  /** The route's pattern, such as `/photos/@id`, after the path of `APP_URL`. */
  readonly pattern: string;
  /** The maximum size of a body, in bytes; `Infinity` for any size. */
  readonly maxBytes: number;
  /** Whether the handler reads bodies, or uploaded files, while they arrive. */
  readonly isStreamed: boolean;
}

/** The facts about an application that its deployment files contain. */
export interface DeploymentFacts {
  /** The application's display name. */
  readonly title: string;
  /** The page for visitors while no instance can be reached. */
  readonly away: ProxyPage;
  /** The page for visitors who send more than any route accepts. */
  readonly tooLarge: ProxyPage;
  /** The host that visitors use. */
  readonly domain: string;
  /**
   * Additional hosts, such as `*.shop.example`; `null` if one of the application's functions decides about each host.
   */
  readonly hosts: readonly string[] | null;
  /** How many requests a proxy sends to an instance at once; `null` for 256 (nginx) or no limit (HAProxy). */
  readonly maxRequests: number | null;
  /** The port of the first instance. The second one has the next port. */
  readonly port: number;
  /** The path that responds with 200 while the process handles requests; `null` if there isn't one. */
  readonly up: string | null;
  /** The path that responds with 200 if the instance is ready for requests; `null` if there isn't one. */
  readonly ready: string | null;
  /** How long an instance continues serving after the signal to shut down, in seconds. */
  readonly drainSeconds: number;
  /** How long it may then take to shut down, in seconds. */
  readonly shutdownSeconds: number;
  /** The prefixes of route paths before a secret, such as a mailed link's token: `/login/device/`, `/orders/@id/`. */
  readonly secretPaths: readonly string[];
  /** The maximum size of a body for a route without its own limit, in bytes. */
  readonly maxBodyBytes: number;
  /**
   * The space that uploads may take in the system's folder for temporary files, in bytes; `0` if none are written there,
   * because every form fits into memory, or the application uses another folder.
   */
  readonly uploadBytes: number;
  /** The paths of routes that accept larger bodies, or stream them. */
  readonly bodyPaths: readonly BodyPath[];
  /** The name of the default database connection; `null` if the application has no database. */
  readonly connection: string | null;
  /** The name of its dialect, such as `postgres`; `null` if there isn't one. */
  readonly dialect: string | null;
  /** Whether the deployment includes a Redis server. */
  readonly redis: boolean;
}
