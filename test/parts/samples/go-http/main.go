package main

import (
	"fmt"
	"log"
	"net/http"
	"os"

	"example.com/greeting"
)

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<h1>%s</h1>", greeting.For("Go"))
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
