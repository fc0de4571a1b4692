# What a new user sees first: a small web server, a task that fails twice and comes back, and a task with a time window.
variable "window_start" {
  type        = string
  description = "Cron expression at which the windowed task may start; the start script passes the next full minute."
  default     = "0 9 * * MON-FRI *"
}

variable "window_end" {
  type        = string
  description = "Minute and hour at which the window ends."
  default     = "0 17"
}

job "hello" {
  datacenters = ["*"]
  type        = "service"

  group "demo" {
    network {
      port "http" {}
    }

    restart {
      attempts = 3
      interval = "10m"
      delay    = "5s"
      mode     = "fail"
    }

    task "web" {
      driver = "raw_exec"

      config {
        command = "node"
        args = ["-e", <<-JS
          const { createServer } = require("node:http");
          const port = Number(process.env.NOMAD_PORT_http);
          const server = createServer((request, response) => {
            console.log(request.method, request.url);
            response.end("hello from Outrider\n");
          });
          server.listen(port, "127.0.0.1", () => console.log("web: http://127.0.0.1:" + port));
        JS
        ]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }

    task "flaky" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = ["-c", <<-SH
          tries="$NOMAD_TASK_DIR/tries"
          n=$(($(cat "$tries" 2>/dev/null || echo 0) + 1))
          echo "$n" > "$tries"
          if [ "$n" -le 2 ]; then
            echo "try $n: failing on purpose"
            exit 1
          fi
          echo "try $n: staying up"
          exec sleep 86400
        SH
        ]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }

    task "windowed" {
      driver = "raw_exec"

      schedule {
        cron {
          start    = var.window_start
          end      = var.window_end
          timezone = "UTC"
        }
      }

      config {
        command = "/bin/sh"
        args    = ["-c", "echo inside the window; exec sleep 86400"]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}
