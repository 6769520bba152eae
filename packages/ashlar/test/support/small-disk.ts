import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";

/** A separate file system, which a test may fill up or make read-only. */
export interface SmallDisk {
  readonly folder: string;
  /** Remounts it read-only. */
  makeReadOnly(): void;
  remove(): void;
}

/** @param kilobytes its size */
export function makeDisk(kilobytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-disk-"));
  mount("-t", "tmpfs", "-o", `size=${kilobytes}k,mode=0777`, "tmpfs", folder);
  return {
    folder,
    makeReadOnly: () => mount("-o", "remount,ro", folder),
    remove() {
      spawnSync("umount", ["-l", folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

function mount(...args: string[]): void {
  const { status, stderr } = spawnSync("mount", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`mount ${args.join(" ")}: ${stderr}`);
}

/** Defines a suite that needs a separate disk. Without permission to mount one, the suite is listed as skipped. */
export function withSmallDisk(title: string, define: () => void): void {
  let isAllowed = process.platform === "linux";
  try {
    if (isAllowed) makeDisk(64).remove();
  } catch {
    isAllowed = false;
  }
  describe.skipIf(!isAllowed)(isAllowed ? title : `${title} (no permission to mount a disk)`, define);
}
