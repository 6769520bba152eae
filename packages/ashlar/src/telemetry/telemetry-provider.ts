import type * as Api from "@opentelemetry/api";
import { declareFeature, type Feature, Provider } from "../boot/index.ts";
import { optionalPackage } from "../database/index.ts";
import { Spans } from "./spans.ts";

/** The spans of the process, and how many applications want them. */
let spans: Spans | null = null;
let users = 0;

/**
 * Makes OpenTelemetry spans of requests, statements, password hashes and deliveries of mails, for the SDK that the
 * application has started. It needs the package `@opentelemetry/api`: `npm install @opentelemetry/api`. Without an SDK,
 * the spans go nowhere.
 *
 * With several applications in one process, it traces them all as soon as one of them has it.
 *
 * A request continues the trace of its `traceparent`, by the same rule as its id: with `APP.trustedProxies`, only a trusted
 * proxy's counts. The request's span is active in the handler, so spans of other libraries become its children.
 */
export class TelemetryProvider extends Provider {
  static override readonly feature: Feature = declareFeature({ name: "telemetry" });
  #isCounted = false;

  /** @throws `E_MISSING_PACKAGE` */
  override async boot(): Promise<void> {
    const api: typeof Api = await optionalPackage(
      "@opentelemetry/api",
      "TelemetryProvider",
      () => import("@opentelemetry/api"),
    );
    if (this.application.isInspected) return;
    // The channels belong to the process, like the SDK: two applications must not make two spans of one request.
    if (users === 0) {
      spans = new Spans(api);
      spans.start();
    }
    users++;
    this.#isCounted = true;
  }

  override shutdown(): void {
    if (!this.#isCounted) return;
    users--;
    if (users === 0) spans?.stop();
  }
}
