/** A fault that somebody might make: `find` stands once in a source file and becomes `replace`. */
export interface Mutant {
  readonly id: string;
  /** Below `src`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** The implementation that has the fault. */
  readonly subject: "local" | "memory" | "mounts" | "mounts with realDirs";
  /** Groups of cases that are tried first; all others follow. */
  readonly first: string;
  /** Only shows where mounts are made. */
  readonly root?: true;
}

type Row = readonly [id: string, find: string, replace: string, first: string, root?: "root"];

const inFile = (file: string, subject: Mutant["subject"], rows: readonly Row[]): Mutant[] =>
  rows.map(([id, find, replace, first, root]) => ({
    id,
    file,
    find,
    replace,
    subject,
    first,
    ...(root === undefined ? {} : { root: true as const }),
  }));

export const MUTANTS: readonly Mutant[] = [
  ...inFile("safe-root.ts", "local", [
    ["dots-not-counted", "if (depth < 0) throw escapes(requested);", "", "path"],
    [
      "dots-popped-above-the-root",
      "if (stack.length === 1) throw escapes(requested);",
      "if (stack.length === 1) continue;",
      "path",
    ],
    ["absolute-links-taken-as-relative", 'if (target.startsWith("/")) throw escapes(requested);', "", "path"],
    ["links-without-end", "if (++links > MAX_LINKS)", "if (++links > 1e6)", "path"],
    ["few-links", "const MAX_LINKS = 40;", "const MAX_LINKS = 1;", "path"],
    ["links-on-the-way-not-followed", "(o.follow || todo.length > 0)", "o.follow && todo.length === 0", "path"],
    ["last-link-not-followed", "(o.follow || todo.length > 0)", "todo.length > 0", "stat"],
    ["secrets-entered", "if (stack.length > 1) o.enter(place.stats, requested);", "", "path"],
    ["nul-let-in", 'path.includes("\\0") ||', "", "path"],
    ["length-not-limited", "path.length > MAX_PATH ||", "", "path"],
    ["dot-names-refused", 'part !== "" && part !== "."', 'part !== "" && !part.startsWith(".")', "path names"],
    [
      "file-on-the-way-passed",
      'else if (todo.length > 0) throw Object.assign(new Error("not a directory"), { code: "ENOTDIR" });',
      "",
      "path",
    ],
    ["vanished-entry-fails", '["ENOENT", "ESTALE"]', '["ESTALE"]', "list"],
    [
      "fifo-opened-for-reading",
      "open(this.#child(dir, name), O_PATH | O_NOFOLLOW);\n      opened",
      "open(this.#child(dir, name), O_NOFOLLOW | O_RDONLY | O_NONBLOCK);\n      opened",
      "path",
    ],
    [
      "descriptors-leak",
      "await Promise.all(open.map((handle) => handle.close()));",
      "await open.at(-1)?.close();",
      "list",
    ],
  ]),
  ...inFile("forbidden.ts", "local", [
    [
      "private-not-closed",
      'const KINDS = ["secrets", "private"] as const;',
      'const KINDS = ["secrets"] as const;',
      "path",
    ],
    [
      "all-hard-links-refused",
      "if (stats.nlink <= 1n) return;\n    for",
      'if (stats.nlink > 1n) throw refused("secrets", requested);\n    for',
      "path",
    ],
    ["wrong-word", '(["PRIVATE_FILE", "private"] as const)', '(["SECRET_FILE", "secret"] as const)', "path"],
  ]),
  // Where secrets are no mounts, links lead into them.
  ...inFile("forbidden.ts", "mounts with realDirs", [
    ["hard-links-not-looked-for", "if (stats.nlink <= 1n) return;", "if (stats.nlink >= 1n) return;", "path"],
    ["hard-links-one-level", "if (stats.isDirectory()) queue.push", "if (stats.isFile()) queue.push", "path"],
  ]),
  ...inFile("local/file-api.ts", "mounts with realDirs", [
    [
      "links-in-stat-checked-late",
      "await forbidden.checkLinks(root, place.stats, path);\n      const file",
      "const file",
      "path",
    ],
  ]),
  ...inFile("migrate/archive-writer.ts", "mounts with realDirs", [
    [
      "hard-linked-secret-in-snapshot",
      "if (stats.nlink > 1 && this.#secrets.holds(fd))",
      "if (stats.nlink < 1)",
      "snapshot",
    ],
  ]),
  ...inFile("names.ts", "local", [
    [
      "dotdot-is-a-task",
      'name === "." || name === ".." || name === "alloc"',
      'name === "." || name === "alloc"',
      "names",
    ],
    ["alloc-is-a-task", 'name === "." || name === ".." || name === "alloc"', 'name === "." || name === ".."', "names"],
    ["backslash-let-in", "/[/\\\\]/.test(name)", "/[/]/.test(name)", "names"],
    [
      "length-in-characters",
      "Buffer.byteLength(name) > MAX_TASK_NAME_BYTES",
      "name.length > MAX_TASK_NAME_BYTES",
      "names",
    ],
    ["any-alloc-id", "const ALLOC_ID = /^[0-9a-f]{8}", "const ALLOC_ID = /[0-9a-f]{8}", "names"],
  ]),
  ...inFile("local/file-api.ts", "local", [
    ["secrets-listed", "forbidden.enter(place.stats, path);\n      const entries", "const entries", "path"],
    [
      "sorted-by-utf16",
      "entries.sort((a, b) => Buffer.compare(Buffer.from(a.Name), Buffer.from(b.Name)))",
      "entries.sort((a, b) => (a.Name < b.Name ? -1 : 1))",
      "list",
    ],
    ["offset-not-checked", "if (!Number.isSafeInteger(from) || from < 0) {", "if (Number.isNaN(from)) {", "read"],
    [
      "folder-read",
      'if (place.stats.isDirectory())\n        throw new AllocDirError("IS_DIRECTORY"',
      'if (place.stats.isSocket())\n        throw new AllocDirError("IS_DIRECTORY"',
      "read",
    ],
    [
      "fifo-read",
      "if (!place.stats.isFile())\n        throw",
      "if (place.stats.isBlockDevice())\n        throw",
      "path",
    ],
    [
      "stat-opens-everything",
      "if (!place.stats.isFile())\n        return info",
      "if (place.stats.isDirectory())\n        return info",
      "path",
    ],
    [
      "sniffs-by-name",
      "sniffContentType(name, head.subarray(0, bytesRead))",
      'sniffContentType(name, Buffer.from(name.endsWith(".html") ? "<html>" : head.subarray(0, bytesRead)))',
      "stat",
    ],
    ["sniffs-zeros", "head.subarray(0, bytesRead)", "head", "stat"],
    ["limit-zero-is-nothing", "o.limit !== undefined && o.limit > 0 ?", "o.limit !== undefined ?", "read"],
    [
      "signal-ignored",
      "o.signal === undefined ? [this.#ended()] : [this.#ended(), o.signal]",
      "[this.#ended()]",
      "read",
    ],
    [
      "destroy-does-not-end-readers",
      "const signals = o.signal === undefined ? [this.#ended()] : [this.#ended(), o.signal];",
      "const signals = o.signal === undefined ? [] : [o.signal];",
      "destroy",
    ],
    [
      "host-path-in-message",
      "`${JSON.stringify(path)} is not a regular file`",
      "`${this.#path} is not a regular file`",
      "path",
    ],
  ]),
  ...inFile("local/handle-reader.ts", "local", [
    ["position-not-moved", "this.#position += bytesRead;", "", "read"],
    ["limit-not-counted", "this.#left -= bytesRead;", "", "read"],
    ["whole-buffer-given", "return buffer.subarray(0, bytesRead);", "return buffer;", "read"],
    ["not-closed", "await handle?.close();", "", "read"],
  ]),
  ...inFile("content-type.ts", "memory", [
    ["json-not-by-name", 'if (name.endsWith(".json")) return "application/json";', "", "stat"],
    ["no-white-space", '.replace(/^[\\t\\n\\f\\r ]+/, "")', "", "stat"],
  ]),
  ...inFile("file-mode.ts", "memory", [
    ["no-sticky-bit", 'if (mode & 0o1000) text += "t";', "", "build stat"],
    ["fraction-not-padded", '.padStart(9, "0")', "", "list"],
  ]),
  ...inFile("watch/follower.ts", "local", [
    ["truncation-missed", 'if (look.size < before) return "truncated";', "", "changes"],
    ["replacement-missed", "if (look.identity !== this.#first.identity)", 'if (look.identity === "")', "changes"],
    [
      "touch-missed",
      "return look.size > before || touched",
      "return look.size > before || (touched && this.#size === 0)",
      "changes",
    ],
    ["deletion-is-missing", '? "missing" : "deleted"', '? "missing" : "missing"', "changes"],
    ["wait-ends-early", 'look === undefined ? undefined : "modified"', '"modified"', "wait"],
  ]),
  ...inFile("watch/watch-hub.ts", "local", [
    ["abort-not-heard", 'signal.addEventListener("abort", onAbort, { once: true });', "", "wait changes"],
    ["one-follower-ends-all", "this.#followers.delete(follower);\n", "this.#followers.clear();\n", "changes"],
    [
      "missing-not-told",
      'if (event === "missing") throw notFound(path);',
      'if (event === "missing") continue;',
      "changes",
    ],
  ]),
  ...inFile("stream-file.ts", "memory", [
    [
      "end-means-start",
      'r.origin === "end" ? Math.max(0, found.size - r.offset)',
      'r.origin === "end" && r.offset > 0 ? Math.max(0, found.size - r.offset)',
      "stream",
    ],
    [
      "offset-before-data",
      "yield { file: r.path, offset: reader.position, data };",
      "yield { file: r.path, offset: reader.position - data.length, data };",
      "stream",
    ],
    [
      "offset-overshoots",
      "yield { file: r.path, offset: reader.position, data };",
      "yield { file: r.path, offset: Math.ceil(reader.position / FRAME_BYTES) * FRAME_BYTES, data };",
      "stream",
    ],
    ["truncation-not-told", 'yield { file: r.path, offset: 0, fileEvent: "file truncated" };', "", "stream"],
    [
      "tail-lost",
      "left -= yield* readToEnd(reader, r, left, signal);\n    if (left <= 0) return { over: true, left };\n    if (gone) {",
      "if (gone) {",
      "stream",
    ],
    ["limit-forgotten", "Math.min(FRAME_BYTES, most - count)", "FRAME_BYTES", "stream"],
  ]),
  ...inFile("task-logs.ts", "memory", [
    [
      "numbers-as-text",
      "return files.sort((a, b) => a.index - b.index);",
      "return files.sort((a, b) => (`${a.index}` < `${b.index}` ? -1 : 1));",
      "logs",
    ],
    [
      "any-ending",
      "if (/^(0|[1-9]\\d{0,14})$/.test(rest)) files.push({ index: Number(rest)",
      "if (/^\\d/.test(rest)) files.push({ index: Number.parseInt(rest, 10)",
      "logs",
    ],
    ["folders-are-logs", "if (entry.IsDir || !entry.Name", "if (!entry.Name", "logs"],
    ["end-replays", "Math.max(0, sizes - r.offset);", "(r.offset === 0 ? 0 : Math.max(0, sizes - r.offset));", "logs"],
  ]),
  ...inFile("local/make-dir.ts", "local", [
    ["umask-counts", "fchmodSync(fd, mode);", "", "build"],
    [
      "links-followed",
      "openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)",
      "openSync(path, O_RDONLY | O_DIRECTORY)",
      "build",
    ],
  ]),
  ...inFile("local/local-task-dir.ts", "local", [
    ["image-as-chroot", '["none", "image"]', '["none", "image", "chroot"]', "build"],
    ["tmp-not-sticky", "0o1777", "0o777", "build"],
    ["size-ignored", "this.#secretsMB = Math.max(1, task.secretsMB ?? 0);", "this.#secretsMB = 1;", "secrets", "root"],
    ["mounts-stacked", "own.dev !== parent.dev", "own.dev === -1", "secrets", "root"],
  ]),
  ...inFile("local/local-alloc-dir.ts", "local", [
    ["mounts-not-taken-off", "if (!this.#context.asRoot) return;", "return;", "destroy", "root"],
    ["readers-live-on", "this.#ended.abort(reason);", "", "destroy"],
    ["ended-for-good", "if (this.#ended.signal.aborted) this.#ended = endController();", "", "build"],
    ["destroyed-too-soon", 'this.#state = "destroying";', 'this.#state = "destroyed";', "errors"],
    ["move-into-nothing", 'if (this.#state !== "built") {', 'if (this.#state === "destroying") {', "move"],
    ["any-task-moved", "for (const name of taskNames) checkTaskName(name);", "", "move"],
    [
      "snapshot-outlives-destroy",
      "signals: [this.#ended.signal, ...(o.signal === undefined ? [] : [o.signal])],",
      "signals: o.signal === undefined ? [] : [o.signal],",
      "snapshot",
    ],
  ]),
  ...inFile("local/doomed-tree.ts", "local", [
    [
      "second-destroy-fails",
      'if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;\n    throw reason;',
      "throw reason;",
      "destroy",
    ],
  ]),
  ...inFile("local/archive-request.ts", "local", [
    ["tasks-in-order-of-making", "[...o.tasks].sort()", "[...o.tasks]", "snapshot"],
    [
      "logs-in-snapshot",
      'below: ["alloc", "data"] },',
      'below: ["alloc", "data"] },\n        { name: "alloc/logs", base, below: ["alloc", "logs"] },',
      "snapshot",
    ],
  ]),
  ...inFile("local/sweep-mounts.ts", "local", [
    ["oldest-first", "mounts.reverse().sort((a, b) => b.split", "mounts.sort((a, b) => a.split", "destroy", "root"],
    [
      "deletes-through-mounts",
      "if (tries > BUSY_TRIES)\n      throw",
      "if (tries > BUSY_TRIES) return;\n    if (tries > BUSY_TRIES)\n      throw",
      "destroy",
      "root",
    ],
    [
      "swept-once",
      "if (mounts.length === 0) return;",
      "if (mounts.length === 0 || tries > 0) return;",
      "destroy",
      "root",
    ],
  ]),
  ...inFile("local/mountinfo.ts", "local", [
    [
      "blanks-not-decoded",
      ".replace(/\\\\([0-7]{3})/g, (_, octal: string) =>\n      String.fromCharCode(Number.parseInt(octal, 8)),\n    )",
      "",
      "destroy",
      "root",
    ],
  ]),
  ...inFile("local/system-mounter.ts", "mounts", [
    [
      "flags-by-the-first-bind",
      'await run("mount", ["-o", `remount,bind,${wanted.join(",")}`, target]);',
      "if (wanted.length > 0) return;",
      "unveil",
      "root",
    ],
    [
      "executable-secrets",
      "await mount(`noexec,size=${sizeMB}m,noswap`)",
      "await mount(`size=${sizeMB}m`)",
      "secrets",
      "root",
    ],
  ]),
  ...inFile("migrate/archive-writer.ts", "local", [
    [
      "directories-with-slash",
      "encodeHeader({\n        name,",
      'encodeHeader({\n        name: type === "directory" ? `${name}/` : name,',
      "snapshot",
    ],
    [
      "links-followed-in-snapshot",
      'else if (kind === "symlink") this.#link(path, name);',
      'else if (kind === "symlink") this.#file(path, name);',
      "snapshot",
    ],
    ["skipped-not-counted", "this.#skipped++;", "", "snapshot"],
    ["no-closing-blocks", "this.#out.zeros(TRAILER_BYTES);", "", "snapshot"],
    ["modes-lost", 'mode: type === "symlink" ? 0o777 : stats.mode,', "mode: 0o644,", "snapshot"],
  ]),
  ...inFile("migrate/move.ts", "local", [
    [
      "target-overwritten",
      "await rename(leaf, target);",
      "await removeTree(target, name);\n    await rename(leaf, target);",
      "move",
    ],
    ["link-moved", 'if (!(await mark.stat()).isDirectory()) return "link";', "", "move"],
    ["half-moved", "await undo(done, parents, to);", "", "move"],
  ]),
  ...inFile("memory/resolve.ts", "memory", [
    ["memory-root-left", "if (stack.length === 1) throw escapes(path);", "if (stack.length === 1) continue;", "path"],
    ["memory-absolute-links", 'if (node.target.startsWith("/")) throw escapes(path);', "", "path"],
    ["memory-secrets-open", "if (kind !== undefined) throw refused(kind, path);\n  };", "};", "path"],
    [
      "memory-hard-links",
      'place.node.kind === "file" && place.node.links > 1',
      'place.node.kind === "file" && place.node.links > 2',
      "path",
    ],
    [
      "memory-secrets-listed",
      "if (task.children.get(kind) === place.node)",
      "if (task === place.node && kind === undefined)",
      "path",
    ],
  ]),
  ...inFile("memory/memory-file-api.ts", "memory", [
    [
      "memory-same-name-same-file",
      "if (this.#find(path) !== node) {",
      "if (this.#find(path) === undefined) {",
      "changes",
    ],
    ["memory-fifo-read", 'if (node.kind !== "file")\n      throw', 'if (node.kind === "symlink")\n      throw', "path"],
  ]),
  ...inFile("memory/memory-reader.ts", "memory", [
    ["memory-readers-live-on", "for (const signal of this.#signals) signal.throwIfAborted();", "", "destroy read"],
  ]),
  ...inFile("memory/memory-alloc-dir.ts", "memory", [
    ["memory-half-built", 'if (!known && this.files.root !== undefined) this.files.remove("/");', "", "errors"],
    [
      "memory-target-overwritten",
      'if (node.kind !== "directory" || node.children.size > 0)',
      'if (node.kind !== "directory")',
      "move",
    ],
  ]),
  ...inFile("memory/memory-archive.ts", "memory", [
    [
      "memory-no-back-pressure",
      'if (piece.length > 0 && !out.write(piece)) await once(out, "drain", { signal });',
      "if (piece.length > 0) out.write(piece);",
      "snapshot",
    ],
  ]),
  ...inFile("mounts/view.ts", "mounts", [
    ["view-not-rolled-back", "for (const back of undo.reverse()) await back();", "", "unveil", "root"],
    ["rolled-back-in-order", "undo.reverse()", "undo", "unveil", "root"],
    [
      "shared-folder-stolen",
      'makeDir(shared, SHARED_MODE, nobody, "alloc");',
      'makeDir(shared, SHARED_MODE, user, "alloc");',
      "unveil",
      "root",
    ],
    [
      "binds-stacked",
      "if ((await mounter.list(path)).some(({ target }) => target === path)) return;",
      "",
      "unveil",
      "root",
    ],
    ["secrets-of-all", "makeDir(secrets, VIEW_MODE, user", "makeDir(secrets, SHARED_MODE, user", "unveil", "root"],
  ]),
  ...inFile("mounts/mounts-task-dir.ts", "mounts with realDirs", [
    [
      "nobody-is-a-user",
      'if (user === undefined) throw this.#refused("needs the user who runs the task", "user");',
      "if (user === undefined) return;",
      "unveil",
    ],
    ["built-without-an-allocation", "await this.#context.checkBuilt();", "", "build"],
  ]),
  ...inFile("mounts/mounts-alloc-dir.ts", "mounts", [
    ["views-stay", "{ release: () => this.#dropViews() }", "{}", "unveil destroy", "root"],
  ]),
  ...inFile("local/local-alloc-dir.ts", "mounts with realDirs", [
    [
      "real-dirs-stay",
      "for (const task of this.#places.elsewhere()) await this.#delete(...this.#places.of(task));",
      "",
      "destroy",
    ],
    ["moved-beside", 'join(...this.#places.of(task), "local"),', 'join(this.allocDirPath, task, "local"),', "move"],
  ]),
  ...inFile("local/archive-request.ts", "mounts with realDirs", [
    [
      "real-secrets-forgotten",
      "places.elsewhere().flatMap((task) => {",
      "([] as string[]).flatMap((task) => {",
      "snapshot",
    ],
  ]),
];
