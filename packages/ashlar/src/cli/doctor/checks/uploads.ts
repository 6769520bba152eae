import { statfs } from "node:fs/promises";
import type { Application } from "../../../boot/index.ts";
import { routeLabel } from "../../../http/index.ts";
import type { CompiledRoute } from "../../../routing/index.ts";
import { type Check, error, type Finding, warning } from "../finding.ts";
import type { Subject } from "../subject.ts";
import { trialWrite } from "../trial-write.ts";

const CONFIG = "config/app.ts";

/** File systems in memory, by their type in `statfs(2)`. */
const TMPFS = 0x01021994;

/** Checks the folder for large files in forms, if a route accepts any. */
export const UPLOADS: Check = {
  name: "Uploads",
  needsBoot: true,
  async run(subject: Subject): Promise<Finding[]> {
    const application = subject.boot.application!;
    const { limits } = application.settings;
    const routes = application.router.routes.filter((route) => !route.streamsBody && !route.streamsFiles);
    const largest = Math.max(limits.maxMultipartBytes, ...routes.map(({ bodyLimitBytes }) => bodyLimitBytes ?? 0));
    if (largest <= limits.maxFormMemoryBytes) return [];
    const folder = await folderFinding(application);
    return folder === null ? [...(await roomFindings(application)), ...routeFindings(subject, routes)] : [folder];
  },
};

async function folderFinding({ serving }: Application): Promise<Finding | null> {
  const { parent } = serving.bodies.folder;
  const permit = "Create it for the user that the application runs as.";
  const found = await trialWrite(parent, permit);
  if (found === null) return null;
  const problem = `The folder for uploads, ${parent}, ${found.problem}`;
  return error("uploads.folder", { file: CONFIG, problem, note: `${found.note} ${ELSEWHERE}` });
}

const ELSEWHERE = "Or set APP.uploadFolder to another folder.";

async function roomFindings({ serving, settings }: Application): Promise<Finding[]> {
  const { parent } = serving.bodies.folder;
  const { type, blocks, bsize } = await statfs(parent);
  const { maxDiskBytes } = settings.limits;
  if (type !== TMPFS || blocks * bsize >= maxDiskBytes) return [];
  const problem = `Uploads are written to ${parent}, which is memory (tmpfs) of ${blocks * bsize} bytes, and may take ${maxDiskBytes} (APP.limits.maxDiskBytes).`;
  const note = "Set APP.uploadFolder to a folder on a disk, or lower maxDiskBytes to what the memory has for them.";
  return [warning("uploads.room", { file: CONFIG, problem, note })];
}

/** A form of this size is always refused. */
function routeFindings(subject: Subject, routes: readonly CompiledRoute[]): Finding[] {
  const { maxDiskBytes } = subject.boot.application!.settings.limits;
  const large = routes.filter(({ bodyLimitBytes }) => (bodyLimitBytes ?? 0) > maxDiskBytes);
  return large.map((route) => {
    const problem = `${routeLabel(route)} accepts more than all uploads together may take on disk (APP.limits.maxDiskBytes: ${maxDiskBytes}).`;
    const note = "Raise maxDiskBytes, lower the route's bodyLimit, or add .streamsFiles() to it.";
    return warning("uploads.room", { ...subject.placeOf(route.location), problem, note });
  });
}
