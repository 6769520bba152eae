import { ConfigurationError } from "../../support/index.ts";
import type { Application } from "./application.ts";

/** Data that a process keeps in its memory. */
interface DataInMemory {
  /** The setting that keeps it there. */
  readonly where: string;
  /** The consequence, as the end of a sentence that begins with "several processes run the application: ". */
  readonly harm: string;
  /** The setting to use instead. */
  readonly remedy: string;
  /** What `ashlar doctor` reports it as; default: the warning. */
  readonly finding?: string;
  /** Whether another warning already says that the data is in memory. */
  readonly isTold?: boolean;
}

/**
 * Fails startup in production if several processes run the application, because they don't share the data that this process
 * keeps in memory. If the number of processes is unknown, logs a warning instead.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function requireOneProcess(
  { settings, logger }: Application,
  { where, harm, remedy, finding, isTold = false }: DataInMemory,
): void {
  const { environment, processes } = settings;
  if (environment !== "production") return;
  // A worker is connected to its primary process, and has already loaded node:cluster. Other processes don't have to load it.
  const isWorker = processes === null && process.connected && process.getBuiltinModule("node:cluster").isWorker;
  if (processes === null && !isWorker && !isTold) {
    const alone = "If this is the only process, set APP_PROCESSES=1, and this warning ends.";
    const warning = `${where} is the memory of this process. If several run the application, ${harm} ${remedy} ${alone}`;
    logger.warn({ finding }, warning);
  }
  if (!isWorker && (processes ?? 1) <= 1) return;
  const problem = `is the memory of this process, and several processes run the application: ${harm}`;
  throw new ConfigurationError(where, problem, `${remedy} If this is the only process, set APP_PROCESSES=1.`);
}
