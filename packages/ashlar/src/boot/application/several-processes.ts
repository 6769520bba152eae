import { ConfigurationError } from "../../support/index.ts";
import type { Application } from "./application.ts";

/**
 * Fails startup in production if other processes run the application too, because what this one keeps in its memory
 * would not be known to them. If it isn't known whether others do, that is logged as a warning.
 *
 * @param where what is kept in memory
 * @param harm what would happen, after "several processes run the application: "
 * @param remedy what to write instead
 * @param isTold whether another warning says already what is in memory
 * @throws `E_INVALID_CONFIGURATION`
 */
export function requireOneProcess(
  { settings, logger }: Application,
  where: string,
  harm: string,
  remedy: string,
  isTold = false,
): void {
  const { environment, processes } = settings;
  if (environment !== "production") return;
  // A worker has a channel to its primary process, and Node has loaded the module there. Others need not load it.
  const isWorker = processes === null && process.connected && process.getBuiltinModule("node:cluster").isWorker;
  if (processes === null && !isWorker && !isTold) {
    const alone = "If this is the only process, set APP_PROCESSES=1, and this warning ends.";
    logger.warn(`${where} is the memory of this process. If several run the application, ${harm} ${remedy} ${alone}`);
  }
  if (!isWorker && (processes ?? 1) <= 1) return;
  const problem = `is the memory of this process, and several processes run the application: ${harm}`;
  throw new ConfigurationError(where, problem, `${remedy} If this is the only process, set APP_PROCESSES=1.`);
}
