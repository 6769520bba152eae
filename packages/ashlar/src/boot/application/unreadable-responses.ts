import { CorsMiddleware } from "../../http/index.ts";
import type { Application } from "./application.ts";

/** Warns that pages of trusted origins can't read responses, because no CORS middleware permits it. */
export function warnOfUnreadableResponses(application: Application): void {
  const { logger, settings } = application;
  const [origin] = settings.trustedOrigins.list;
  if (origin === undefined || application.usesMiddleware(CorsMiddleware)) return;
  logger.warn(
    `Pages of ${origin}, one of APP.trustedOrigins, can't read responses: the kernel lacks CorsMiddleware. In ` +
      'app/kernel.ts, import it from "ashlar", and put it first in httpMiddleware: [CorsMiddleware, IpMiddleware].',
  );
}
