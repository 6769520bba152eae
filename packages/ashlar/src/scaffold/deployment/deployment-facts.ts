import type { ProxyPage } from "./proxy-pages.ts";

/** The path of a route with its own body limit, or whose bodies are streamed. */
export interface BodyPath {
  /** As the route has it, such as `/photos/@id`, behind the path of `APP_URL`. */
  readonly pattern: string;
  /** The largest body that it accepts; `Infinity`: any. */
  readonly maxBytes: number;
  /** Whether its handler reads bodies, or the files of forms, while they arrive. */
  readonly isStreamed: boolean;
}

/** The facts about an application in the files of a deployment. */
export interface DeploymentFacts {
  /** The application's name for people. */
  readonly title: string;
  /** What visitors see while no instance can be reached. */
  readonly away: ProxyPage;
  /** The text for visitors who send more than any route accepts. */
  readonly tooLarge: ProxyPage;
  /** The host that visitors use. */
  readonly domain: string;
  /** Further hosts, such as `*.shop.example`; `null` if the application decides about each. */
  readonly hosts: readonly string[] | null;
  /** How many requests a proxy sends to an instance at once; `null` for 256 from nginx, and any number from HAProxy. */
  readonly maxRequests: number | null;
  /** The port of the first instance. The second one has the next. */
  readonly port: number;
  /** The path that responds as long as the process handles requests; `null` if there isn't one. */
  readonly up: string | null;
  /** The path that responds with 200 if requests should be sent; `null` if there isn't one. */
  readonly ready: string | null;
  /** How long an instance continues serving after it was told to end. */
  readonly drainSeconds: number;
  /** How long it then takes to end, at most. */
  readonly shutdownSeconds: number;
  /** The prefixes of route paths before a secret, such as a mailed link's token: `/login/device/`, `/orders/@id/`. */
  readonly secretPaths: readonly string[];
  /** The largest body of a route that doesn't set its own limit, in bytes. */
  readonly maxBodyBytes: number;
  /**
   * The space that uploads may take in the system's folder for temporary files, in bytes; `0` if none are written
   * there, because every form fits into the memory, or the application has another folder for them.
   */
  readonly uploadBytes: number;
  /** The paths of routes that accept larger bodies, or stream them. */
  readonly bodyPaths: readonly BodyPath[];
  /** The name of the default connection to the database; `null` if the application has no database. */
  readonly connection: string | null;
  /** The name of its dialect, such as `postgres`; `null` if there isn't one. */
  readonly dialect: string | null;
  /** Whether a Redis server belongs to the deployment. */
  readonly redis: boolean;
}
