/**
 * Runs a synchronous task and returns the time that this thread spent on it, in milliseconds. Time that the processor
 * spent on something else doesn't count, so a busy machine makes little difference.
 */
export function cpuTimeOf(task: () => void): number {
  const before = process.threadCpuUsage();
  task();
  return since(before);
}

/** Returns the CPU time of this thread, in milliseconds, from the call of an asynchronous task until it is done. */
export async function cpuTimeUntil(task: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await task();
  return since(before);
}

/** Returns the CPU time of all threads of this process, in milliseconds, until an asynchronous task is done. */
export async function processTimeUntil(task: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * Returns the share of the process's CPU time, from 0 to 1, that this thread uses until an asynchronous task is done.
 */
export async function shareOfThisThread(task: () => Promise<unknown>): Promise<number> {
  let here = 0;
  const everywhere = await processTimeUntil(async () => {
    here = await cpuTimeUntil(task);
  });
  return here / everywhere;
}

function since(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
