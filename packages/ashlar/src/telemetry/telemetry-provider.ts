import type * as Api from "@opentelemetry/api";
import { declareFeature, type Feature, Provider } from "../boot/index.ts";
import { optionalPackage } from "../database/index.ts";
import { Spans } from "./spans.ts";

/** The process's spans, and how many applications use them. */
let spans: Spans | null = null;
let users = 0;

/**
 * Creates OpenTelemetry spans for requests, statements, password hashing and mail deliveries, for the SDK that the
 * application has started. It needs the package `@opentelemetry/api`: `npm install @opentelemetry/api`. Without an SDK,
 * the spans go nowhere.
 *
 * If there are several applications in one process, all of them are traced as soon as one of them has this provider.
 *
 * A request continues the trace in its `traceparent` header. As with request ids, if `APP.trustedProxies` is set, only
 * a trusted proxy's header is used. The request's span is active in the handler, so other libraries' spans become its
 * children.
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
    // The channels are shared by the whole process, like the SDK. Two applications must not create two spans for one
    // request.
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
