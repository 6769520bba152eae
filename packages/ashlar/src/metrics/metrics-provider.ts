import cluster from "node:cluster";
import type * as PromClient from "prom-client";
import { declareFeature, type Feature, Provider } from "../boot/index.ts";
import { optionalPackage } from "../database/index.ts";
import { byWorker, ClusterMetrics } from "./cluster.ts";
import { type Exposition, exposeMetrics } from "./exposition.ts";
import { type Family, familiesOf } from "./families.ts";
import { type MetricsServer, startMetricsServer } from "./metrics-server.ts";
import { type CompleteMetricsSettings, metricsPort, readMetricsSettings } from "./settings.ts";

declare module "../kernel/container.ts" {
  interface FrameworkServices {
    /** prom-client's registry. Its metrics are reported along with the framework's. */
    metrics: PromClient.Registry;
  }
}

/** The path on a separate port. */
const PATH = "/metrics";

/**
 * Exports the statistics of `application.stats()` in Prometheus's format, as configured by `METRICS` in
 * `config/metrics.ts`: on a separate port that only this machine can reach, or at a path of the application, protected
 * by a token. It needs the package `prom-client`: `npm install prom-client`.
 *
 * To export your own metrics too, register them with the container's `metrics`.
 */
export class MetricsProvider extends Provider {
  static override readonly feature: Feature = declareFeature({ name: "metrics" });
  #prometheus: typeof PromClient | null = null;
  #settings: CompleteMetricsSettings | null = null;
  #cluster: ClusterMetrics | null = null;
  #server: MetricsServer | null = null;

  /** @throws `E_INVALID_CONFIGURATION`, `E_WEAK_SECRET`, `E_MISSING_PACKAGE` */
  override async register(): Promise<void> {
    const { config, container } = this.application;
    this.#settings = readMetricsSettings(config.optionalSection("metrics", ["METRICS"]).METRICS);
    const prometheus = await optionalPackage("prom-client", "MetricsProvider", () => import("prom-client"));
    this.#prometheus = prometheus;
    container.singleton("metrics", () => new prometheus.Registry());
  }

  override boot(): void {
    const { path, token } = this.#settings!;
    // A mounted application sees the path without the prefix.
    if (path !== null)
      this.application.mount(path, (request) => exposeMetrics(request, "/", token, () => this.#read()));
  }

  override async listening(applicationPort: number): Promise<void> {
    if (cluster.isWorker && this.#cluster === null) {
      this.#cluster = new ClusterMetrics(() => this.#families());
      this.#cluster.start();
    }
    const settings = this.#settings!;
    if (settings.path !== null || this.#server !== null) return;
    const { logger } = this.application;
    const port = settings.port ?? metricsPort(applicationPort);
    const respond = (request: Request) => exposeMetrics(request, PATH, settings.token, () => this.#read());
    this.#server = await startMetricsServer({ port, hostname: settings.hostname }, respond, logger);
    const url = `http://${settings.hostname.includes(":") ? `[${settings.hostname}]` : settings.hostname}:${this.#server.port}${PATH}`;
    if (this.application.environment !== "test") logger.info({ url }, `Metrics are at ${url}`);
  }

  override async shutdown(): Promise<void> {
    this.#cluster?.stop();
    await this.#server?.close();
  }

  /** @internal The separate port for metrics; `null` if there isn't one. */
  get port(): number | null {
    return this.#server?.port ?? null;
  }

  async #read(): Promise<Exposition> {
    const families = this.#cluster === null ? await this.#families() : byWorker(await this.#cluster.collect());
    const registry = new this.#prometheus!.Registry();
    for (const family of families) {
      registry.registerMetric({ ...family, get: async () => family } as unknown as PromClient.Metric);
    }
    return { contentType: registry.contentType, text: await registry.metrics() };
  }

  /** The framework's metrics, and the application's own. */
  async #families(): Promise<Family[]> {
    const { container } = this.application;
    const own = await container.make("metrics").getMetricsAsJSON();
    if (container.has("mail")) await container.make("mail").outboxCounts.refresh();
    return [...familiesOf(this.application.stats()), ...(own as unknown as Family[])];
  }
}
