import { type Application, createLogger } from "../../src/boot/index.ts";
import type { Logger } from "../../src/kernel/index.ts";
import { type BuildOptions, buildApplication } from "./build-application.ts";

/** A line of a log. */
export interface LoggedLine {
  readonly level: number | string;
  readonly msg: string;
}

/** A logger that collects all lines from `info` upward. */
export function loggerInto(lines: LoggedLine[]): Logger {
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: false } } as const;
  return createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as LoggedLine) });
}

/** The messages about Redis, in order. */
export function saidOfRedis(lines: readonly LoggedLine[]): string[] {
  return lines.map(({ msg }) => msg).filter((text) => /^Redis can/.test(text));
}

/** An application for testing stores by themselves. It is shut down after the test. */
export function emptyApplication(lines: LoggedLine[] = [], options: Partial<BuildOptions> = {}): Promise<Application> {
  return buildApplication({ routes: [], logger: loggerInto(lines), ...options });
}
