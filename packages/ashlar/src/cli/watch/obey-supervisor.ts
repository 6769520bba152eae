import type { Application } from "../../boot/index.ts";

/**
 * Ends this process when its supervisor says so, or has ended itself: an application that stayed would keep the port.
 *
 * @returns is told of the application, which is shut down first; before that there is nothing to finish
 */
export function obeySupervisor(): (application: Application) => void {
  let running: Application | null = null;
  const stop = (): void => {
    if (running === null) process.exit(0);
    void running.shutdown().finally(() => process.exit(0));
  };
  process.once("message", stop).once("disconnect", stop);
  // It doesn't keep a process that has nothing else to do.
  process.channel?.unref();
  return (application) => {
    running = application;
  };
}
