import { realpathSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { PACKAGE_FOLDER } from "../../support/index.ts";

/**
 * The folder in which workers are started. If it is reached through a symbolic link, an update switches the link to the
 * folder of another release.
 */
export class ReleaseFolder {
  /**
   * The folder that workers currently start in. The system resolves links when a process enters a folder, so this is
   * the link's target at that time.
   */
  current: string;
  readonly #link: string | null;

  /**
   * @param current the absolute path of the folder
   * @param link the absolute path of the symbolic link to it; `null` if there is no link to follow
   */
  constructor(current: string, link: string | null) {
    this.current = current;
    this.#link = link;
  }

  get isLink(): boolean {
    return this.#link !== null;
  }

  /** Follows the link again. Until this is called, replacements of dead workers run the same release. */
  follow(): void {
    if (this.#link !== null) this.current = realpathSync(this.#link);
  }

  /**
   * The command of the Ashlar version that is installed in the folder. With another version's command, the process would load
   * two copies of the framework.
   */
  get command(): string {
    return join(this.#link === null ? PACKAGE_FOLDER : this.#installed(), "bin/ashlar.js");
  }

  #installed(): string {
    try {
      const file = findPackageJSON("ashlar", pathToFileURL(join(this.current, "app.ts")));
      return file === undefined ? PACKAGE_FOLDER : dirname(file);
    } catch {
      // It isn't installed, which the worker's error will report.
      return PACKAGE_FOLDER;
    }
  }
}
