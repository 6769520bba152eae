import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { npmInvocation } from "../../../create-ashlar/src/package-managers.ts";
import { RUN_FOLDER } from "./run-processes.ts";

const PACKAGES = join(import.meta.dirname, "../../..");
/** The file with what npm printed, next to the packages. */
const PRINTED = "packed.json";

/** A package as it would be published. */
export interface PackedPackage {
  readonly name: string;
  /** The path of its archive. */
  readonly file: string;
  /** The paths of the files in it. */
  readonly paths: readonly string[];
}

/** What npm prints about a package. */
interface Printed {
  readonly name: string;
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/**
 * This repository's packages, packed by npm once for all processes of a test run.
 *
 * @param folder where to keep them outside of a test run
 */
export function packedPackages(folder: string = tmpdir()): readonly PackedPackage[] {
  const run = process.env[RUN_FOLDER];
  if (run === undefined) return pack(mkdtempSync(join(folder, "packed-")));
  const packed = join(run, "packed");
  try {
    return readPacked(packed);
  } catch {
    const own = mkdtempSync(`${packed}-`);
    pack(own);
    try {
      renameSync(own, packed);
    } catch {
      // Another process was faster.
      rmSync(own, { recursive: true });
    }
    return readPacked(packed);
  }
}

/** Packs the packages into a folder, starting npm once. */
function pack(folder: string): readonly PackedPackage[] {
  const { command, args } = npmInvocation(["pack", "--json", "--ignore-scripts", "--pack-destination", folder]);
  const printed = execFileSync(command, [...args, "./ashlar", "./create-ashlar"], {
    cwd: PACKAGES,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  writeFileSync(join(folder, PRINTED), printed);
  return readPacked(folder);
}

function readPacked(folder: string): readonly PackedPackage[] {
  const printed = JSON.parse(readFileSync(join(folder, PRINTED), "utf8")) as readonly Printed[];
  return printed.map(({ name, filename, files }) => ({
    name,
    file: join(folder, filename),
    paths: files.map(({ path }) => path),
  }));
}
